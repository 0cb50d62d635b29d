// SPDX-License-Identifier: Apache-2.0
// Matrix product with a 64x64 block tile and a 4x4 tile of accumulators per thread: each value that
// is read from shared memory is used four times.
// kuafu: entry=matmul args=a,b
#include <cuda_runtime.h>
#include <torch/extension.h>

constexpr int kBlock = 64;  // rows and columns of C per block
constexpr int kDepth = 8;   // slice of K per step
constexpr int kEach = 4;    // rows and columns of C per thread
constexpr int kSide = kBlock / kEach;
constexpr int kThreads = kSide * kSide;

__global__ void __launch_bounds__(kThreads)
    matmul_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                  int64_t m, int64_t n, int64_t k, int64_t tiles_across) {
  __shared__ float a_tile[kDepth][kBlock + 4];  // transposed, padded against bank conflicts
  __shared__ float b_tile[kDepth][kBlock];
  const int tid = threadIdx.x;
  const int tx = tid % kSide;
  const int ty = tid / kSide;
  const int64_t row0 = blockIdx.x / tiles_across * kBlock;
  const int64_t column0 = blockIdx.x % tiles_across * kBlock;

  float sum[kEach][kEach] = {};
  for (int64_t p = 0; p < k; p += kDepth) {
    for (int i = tid; i < kBlock * kDepth; i += kThreads) {
      const int ar = i / kDepth;
      const int ad = i % kDepth;
      a_tile[ad][ar] = row0 + ar < m && p + ad < k ? a[(row0 + ar) * k + p + ad] : 0.0f;
      const int bd = i / kBlock;
      const int bc = i % kBlock;
      b_tile[bd][bc] = p + bd < k && column0 + bc < n ? b[(p + bd) * n + column0 + bc] : 0.0f;
    }
    __syncthreads();
    for (int d = 0; d < kDepth; ++d) {
      float left[kEach];
      float right[kEach];
      for (int e = 0; e < kEach; ++e) {
        left[e] = a_tile[d][ty * kEach + e];
        right[e] = b_tile[d][tx + e * kSide];  // strided: neighbours read neighbouring banks
      }
      for (int r = 0; r < kEach; ++r) {
        for (int s = 0; s < kEach; ++s) sum[r][s] = fmaf(left[r], right[s], sum[r][s]);
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < kEach; ++r) {
    for (int s = 0; s < kEach; ++s) {
      const int64_t row = row0 + ty * kEach + r;
      const int64_t column = column0 + tx + s * kSide;
      if (row < m && column < n) c[row * n + column] = sum[r][s];
    }
  }
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
  const int64_t across = (n + kBlock - 1) / kBlock;
  const int64_t down = (m + kBlock - 1) / kBlock;
  matmul_kernel<<<static_cast<unsigned>(across * down), kThreads>>>(
      a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, n, a.size(1), across);
  return c;
}
