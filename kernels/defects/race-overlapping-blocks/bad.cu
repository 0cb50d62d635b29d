// SPDX-License-Identifier: Apache-2.0
// Hazard: each block writes one element of the next block, with the same value
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n) {
  const int begin = blockIdx.x * 256;
  for (int j = threadIdx.x; j < 257; j += 128)
    if (begin + j < n) y[begin + j] = 2.f * x[begin + j] + 1.f;  // EXPECT: race
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
