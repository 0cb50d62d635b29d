// SPDX-License-Identifier: Apache-2.0
// Hazard: guard compares with the wrong dimension of a non-square matrix (corrected twin)
#include <torch/extension.h>

__global__ void transpose(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (r < rows && c < cols)
    y[(size_t)c * rows + r] = x[(size_t)r * cols + c];
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  auto y = torch::empty({cols, rows}, x.options());
  dim3 grid((cols + 15) / 16, (rows + 15) / 16);
  if (rows > 0 && cols > 0)
    transpose<<<grid, dim3(16, 16)>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
  return y;
}
