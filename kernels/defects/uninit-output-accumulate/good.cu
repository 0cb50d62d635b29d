// SPDX-License-Identifier: Apache-2.0
// Hazard: adds into an output from torch::empty (corrected twin)
#include <torch/extension.h>

__global__ void col_sum(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * 64 + threadIdx.x;
  if (c >= cols) return;
  for (int r = 0; r < rows; ++r)
    y[c] += x[(size_t)r * cols + c];
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  auto y = torch::zeros({cols}, x.options());
  if (cols > 0)
    col_sum<<<(cols + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
  return y;
}
