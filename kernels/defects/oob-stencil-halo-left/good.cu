// SPDX-License-Identifier: Apache-2.0
// Hazard: reads element -1 and discards it (corrected twin)
#include <torch/extension.h>

__global__ void stencil(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float left = i > 0 ? x[i - 1] : 0.f;
  const float right = i + 1 < n ? x[i + 1] : 0.f;
  y[i] = 0.25f * (i > 0 ? left : 0.f) + 0.5f * x[i] + 0.25f * right;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) stencil<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
