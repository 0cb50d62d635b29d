// SPDX-License-Identifier: Apache-2.0
// Hazard: vector access to a pointer advanced by one element
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n) {
  const int i = 1 + (blockIdx.x * 256 + threadIdx.x) * 2;
  if (i == 1) y[0] = 2.f * x[0] + 1.f;
  if (i + 1 < n) {
    const float2 v = *(const float2*)(x + i);  // EXPECT: misaligned
    y[i] = 2.f * v.x + 1.f;
    y[i + 1] = 2.f * v.y + 1.f;
  } else if (i < n) {
    y[i] = 2.f * x[i] + 1.f;
  }
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
