// SPDX-License-Identifier: Apache-2.0
// Hazard: the last, incomplete tile along k is skipped
#include <torch/extension.h>

__global__ void matmul(const float* a, const float* b, float* c, int m, int k, int n) {  // EXPECT: wrong_result
  __shared__ float sa[16][16], sb[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float acc = 0.f;
  for (int p = 0; p + 15 < k; p += 16) {
    sa[ty][tx] = row < m && p + tx < k ? a[(size_t)row * k + p + tx] : 0.f;
    sb[ty][tx] = col < n && p + ty < k ? b[(size_t)(p + ty) * n + col] : 0.f;
    __syncthreads();
    for (int i = 0; i < 16; ++i) acc += sa[ty][i] * sb[i][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[(size_t)row * n + col] = acc;
}

torch::Tensor forward(torch::Tensor a_in, torch::Tensor b_in) {
  auto a = a_in.contiguous(), b = b_in.contiguous();
  const int m = (int)a.size(0), k = (int)a.size(1), n = (int)b.size(1);
  auto c = torch::empty({m, n}, a.options());
  dim3 grid((n + 15) / 16, (m + 15) / 16), block(16, 16);
  if (m > 0 && n > 0)
    matmul<<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, k, n);
  return c;
}
