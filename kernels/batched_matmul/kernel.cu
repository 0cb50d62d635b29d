// SPDX-License-Identifier: Apache-2.0
// Batched matrix product: 16x16 tiles as in the plain product, the batch on grid.z with a stride,
// because grid.z holds at most 65535.
// kuafu: entry=bmm args=a,b
#include <cuda_runtime.h>
#include <torch/extension.h>

constexpr int kTile = 16;

__global__ void bmm_kernel(const float* __restrict__ a, const float* __restrict__ b,
                           float* __restrict__ c, int64_t batch, int64_t m, int64_t n, int64_t k) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int64_t row = static_cast<int64_t>(blockIdx.y) * kTile + ty;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kTile + tx;
  for (int64_t s = blockIdx.z; s < batch; s += gridDim.z) {
    const float* as = a + s * m * k;
    const float* bs = b + s * k * n;
    float sum = 0.0f;
    for (int64_t p = 0; p < k; p += kTile) {
      a_tile[ty][tx] = row < m && p + tx < k ? as[row * k + p + tx] : 0.0f;
      b_tile[ty][tx] = p + ty < k && column < n ? bs[(p + ty) * n + column] : 0.0f;
      __syncthreads();
      for (int q = 0; q < kTile; ++q) sum = fmaf(a_tile[ty][q], b_tile[q][tx], sum);
      __syncthreads();
    }
    if (row < m && column < n) c[(s * m + row) * n + column] = sum;
  }
}

torch::Tensor bmm(torch::Tensor a, torch::Tensor b) {
  TORCH_CHECK(a.dim() == 3 && b.dim() == 3, "a and b must be [batch, rows, columns]");
  TORCH_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), "shapes must be BxMxK, BxKxN");
  TORCH_CHECK(a.scalar_type() == torch::kFloat32, "a must be float32");
  TORCH_CHECK(a.size(1) <= 65535 * kTile, "M is beyond the limit of grid.y");
  a = a.contiguous();
  b = b.contiguous();
  const int64_t batch = a.size(0);
  const int64_t m = a.size(1);
  const int64_t n = b.size(2);
  torch::Tensor c = torch::empty({batch, m, n}, a.options());
  if (c.numel() == 0) return c;
  const dim3 grid(static_cast<unsigned>((n + kTile - 1) / kTile),
                  static_cast<unsigned>((m + kTile - 1) / kTile),
                  static_cast<unsigned>(batch < 65535 ? batch : 65535));
  bmm_kernel<<<grid, dim3(kTile, kTile)>>>(a.data_ptr<float>(), b.data_ptr<float>(),
                                           c.data_ptr<float>(), batch, m, n, a.size(2));
  return c;
}
