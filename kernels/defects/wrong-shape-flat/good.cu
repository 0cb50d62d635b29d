// SPDX-License-Identifier: Apache-2.0
// Hazard: output keeps the shape of the input (corrected twin)
#include <torch/extension.h>

__global__ void transpose(const float* x, float* y, int rows, int cols) {
  __shared__ float tile[32][33];
  const int bx = blockIdx.x * 32, by = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += 8)
    if (by + j < rows && bx + threadIdx.x < cols)
      tile[j][threadIdx.x] = x[(size_t)(by + j) * cols + bx + threadIdx.x];
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8)
    if (bx + j < cols && by + threadIdx.x < rows)
      y[(size_t)(bx + j) * rows + by + threadIdx.x] = tile[threadIdx.x][j];
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  auto y = torch::empty({cols, rows}, x.options());
  dim3 grid((cols + 31) / 32, (rows + 31) / 32);
  if (rows > 0 && cols > 0)
    transpose<<<grid, dim3(32, 8)>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
  return y;
}
