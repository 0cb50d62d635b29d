// SPDX-License-Identifier: Apache-2.0
// Hazard: maximum seeded with zero
#include <torch/extension.h>

__global__ void global_max(const float* x, float* y, int n) {  // EXPECT: wrong_result
  float top = 0.f;
  for (int i = 0; i < n; ++i)
    if (x[i] > top || x[i] != x[i]) top = x[i];
  *y = top;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty({}, x.options());
  global_max<<<1, 1>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel());
  return y;
}
