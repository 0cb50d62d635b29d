// SPDX-License-Identifier: Apache-2.0
// Hazard: local array set for three of its four elements (corrected twin)
#include <torch/extension.h>

__global__ void pool(const float* x, float* y, int n, int cols, int out) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  const float* w = x + (size_t)(i / out) * cols + (i % out) * 4;
  float v[4], acc = 0.f;
  for (int k = 0; k < 4; ++k) v[k] = w[k];
  for (int k = 0; k < 4; ++k) acc += v[k];
  y[i] = acc * 0.25f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  const int rows = (int)x.size(0), cols = (int)x.size(1), out = cols / 4, n = rows * out;
  auto y = torch::empty({rows, out}, x.options());
  if (n > 0) pool<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, cols, out);
  return y;
}
