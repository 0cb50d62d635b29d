// SPDX-License-Identifier: Apache-2.0
// Hazard: grid of zero blocks when there is no complete chunk
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int begin, int n) {  // EXPECT: launch_invalid
  const int i = begin + blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i] + 1.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel(), whole = n / 4096 * 4096;
  const float* a = x.data_ptr<float>();
  float* b = y.data_ptr<float>();
  scale<<<whole / 256, 256>>>(a, b, 0, whole);  // EXPECT-ALSO: launch_invalid
  if (n > whole) scale<<<(n - whole + 255) / 256, 256>>>(a, b, whole, n);
  return y;
}
