// SPDX-License-Identifier: Apache-2.0
// Hazard: maximum seeded with the smallest positive float
#include <torch/extension.h>

__global__ void row_max(const float* x, float* y, int cols, int rows) {  // EXPECT: wrong_result
  const int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + (size_t)r * cols;
  float top = 1.17549435e-38f;
  for (int c = 0; c < cols; ++c)
    if (row[c] > top || row[c] != row[c]) top = row[c];
  y[r] = top;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0)
    row_max<<<(rows + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols, rows);
  return y;
}
