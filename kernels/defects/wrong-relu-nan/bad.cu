// SPDX-License-Identifier: Apache-2.0
// Hazard: fmaxf turns NaN into zero, the reference keeps it
#include <torch/extension.h>

__global__ void relu(const float* x, float* y, int n) {  // EXPECT: wrong_result
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) relu<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
