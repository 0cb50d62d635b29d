// SPDX-License-Identifier: Apache-2.0
// Hazard: writes every second column only
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int cols, int rows) {  // EXPECT: unwritten_output
  const int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + (size_t)r * cols;
  for (int c = 0; c < cols; c += 2) y[(size_t)r * cols + c] = 2.f * row[c] + 1.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0)
    scale<<<(rows + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols, rows);
  return y;
}
