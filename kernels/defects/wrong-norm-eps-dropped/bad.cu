// SPDX-License-Identifier: Apache-2.0
// Hazard: eps left out
#include <torch/extension.h>

__global__ void layer_norm(const float* x, float* y, int cols, int rows) {  // EXPECT: wrong_result
  const int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + (size_t)r * cols;
  float a = 0.f, b = 0.f;
  for (int c = 0; c < cols; ++c) a += row[c];
  a /= cols;
  for (int c = 0; c < cols; ++c) b += (row[c] - a) * (row[c] - a);
  const float k = rsqrtf(b / cols);
  for (int c = 0; c < cols; ++c) y[(size_t)r * cols + c] = (row[c] - a) * k;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0)
    layer_norm<<<(rows + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols, rows);
  return y;
}
