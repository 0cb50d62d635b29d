// SPDX-License-Identifier: Apache-2.0
// Matrix product with 16x16 shared tiles. Tiles that stick out are filled with zeros, so the inner
// loop has no conditions, and every thread stays for every barrier.
// kuafu: entry=matmul args=a,b
#include <cuda_runtime.h>
#include <torch/extension.h>

constexpr int kTile = 16;

__global__ void matmul_kernel(const float* __restrict__ a, const float* __restrict__ b,
                              float* __restrict__ c, int64_t m, int64_t n, int64_t k,
                              int64_t tiles_across) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int64_t row = blockIdx.x / tiles_across * kTile + ty;
  const int64_t column = blockIdx.x % tiles_across * kTile + tx;
  float sum = 0.0f;
  for (int64_t p = 0; p < k; p += kTile) {
    a_tile[ty][tx] = row < m && p + tx < k ? a[row * k + p + tx] : 0.0f;
    b_tile[ty][tx] = p + ty < k && column < n ? b[(p + ty) * n + column] : 0.0f;
    __syncthreads();
    for (int q = 0; q < kTile; ++q) sum = fmaf(a_tile[ty][q], b_tile[q][tx], sum);
    __syncthreads();  // before the tiles are overwritten
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

torch::Tensor matmul(torch::Tensor a, torch::Tensor b) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "shapes must be MxK, KxN");
  TORCH_CHECK(a.scalar_type() == torch::kFloat32, "a must be float32");
  a = a.contiguous();
  b = b.contiguous();
  const int64_t m = a.size(0);
  const int64_t n = b.size(1);
  torch::Tensor c = torch::empty({m, n}, a.options());
  if (m * n == 0) return c;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t down = (m + kTile - 1) / kTile;
  matmul_kernel<<<static_cast<unsigned>(across * down), dim3(kTile, kTile)>>>(
      a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, n, a.size(1), across);
  return c;
}
