// SPDX-License-Identifier: Apache-2.0
// Hazard: local array of four written five times
#include <torch/extension.h>

__global__ void pool(const float* x, float* y, int n, int cols, int out) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  const float* w = x + (size_t)(i / out) * cols + (i % out) * 4;
  float v[4];
  for (int k = 0; k < 5; ++k) v[k] = k < 4 ? w[k] : 0.f;  // EXPECT: oob
  y[i] = (v[0] + v[1] + v[2] + v[3]) * 0.25f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  const int rows = (int)x.size(0), cols = (int)x.size(1), out = cols / 4, n = rows * out;
  auto y = torch::empty({rows, out}, x.options());
  if (n > 0) pool<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, cols, out);
  return y;
}
