// SPDX-License-Identifier: Apache-2.0
// Hazard: padded lanes of the tail enter the sum with exp(0 - max) (corrected twin)
#include <torch/extension.h>

__global__ void softmax(const float* x, float* y, int cols, int rows) {
  const int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + (size_t)r * cols;
  const int padded = (cols + 31) / 32 * 32;
  float top = -INFINITY, sum = 0.f;
  for (int c = 0; c < cols; ++c)
    if (row[c] > top || row[c] != row[c]) top = row[c];
  for (int c = 0; c < padded; ++c) {
    const float v = c < cols ? row[c] : -INFINITY;
    sum += expf(v - (c < cols ? top : 0.f));
  }
  for (int c = 0; c < cols; ++c) y[(size_t)r * cols + c] = expf(row[c] - top) / sum;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0)
    softmax<<<(rows + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols, rows);
  return y;
}
