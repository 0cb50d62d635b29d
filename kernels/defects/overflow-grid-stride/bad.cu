// SPDX-License-Identifier: Apache-2.0
// Hazard: grid-stride increment wraps after the last element
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n, int step) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < 2000000000; i += step)  // EXPECT: index_overflow
    if (i < n) y[i] = 2.f * x[i] + 1.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0)
    scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, 1500000000);
  return y;
}
