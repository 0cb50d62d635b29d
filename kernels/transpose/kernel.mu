// SPDX-License-Identifier: Apache-2.0
// Transpose through a 32x33 shared tile: both global accesses are coalesced, and the padding column
// keeps the column reads free of bank conflicts.
// kuafu: entry=transpose args=x
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kTile = 32;
constexpr int kRows = 8;  // each thread moves kTile / kRows elements

__global__ void transpose_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t rows,
                                 int64_t columns, int64_t tiles_across) {
  __shared__ float tile[kTile][kTile + 1];
  const int64_t row0 = blockIdx.x / tiles_across * kTile;
  const int64_t column0 = blockIdx.x % tiles_across * kTile;
  for (int r = threadIdx.y; r < kTile; r += kRows) {
    const int64_t row = row0 + r;
    const int64_t column = column0 + threadIdx.x;
    if (row < rows && column < columns) tile[r][threadIdx.x] = x[row * columns + column];
  }
  __syncthreads();
  for (int r = threadIdx.y; r < kTile; r += kRows) {
    const int64_t row = column0 + r;  // row of the result
    const int64_t column = row0 + threadIdx.x;
    if (row < columns && column < rows) y[row * rows + column] = tile[threadIdx.x][r];
  }
}

torch::Tensor transpose(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be a matrix");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  const int64_t rows = x.size(0);
  const int64_t columns = x.size(1);
  torch::Tensor y = torch::empty({columns, rows}, x.options());
  if (x.numel() == 0) return y;
  const int64_t across = (columns + kTile - 1) / kTile;
  const int64_t down = (rows + kTile - 1) / kTile;
  transpose_kernel<<<static_cast<unsigned>(across * down), dim3(kTile, kRows)>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), rows, columns, across);
  return y;
}
