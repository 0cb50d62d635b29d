// SPDX-License-Identifier: Apache-2.0
// Hazard: variable set in one branch only (corrected twin)
#include <torch/extension.h>

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  if (x[i] > 0.f || x[i] != x[i]) v = x[i];
  if (x[i] < 0.f) v = 0.f;
  y[i] = v;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) relu<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
