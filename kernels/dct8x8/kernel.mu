// SPDX-License-Identifier: Apache-2.0
// 8x8 DCT of video blocks, two matrix products per block of pixels. The basis is computed on the
// host in double and copied to constant memory; four pixel blocks share a thread block.
// kuafu: entry=dct args=x
#include <musa_runtime.h>
#include <torch/extension.h>

#include <cmath>

constexpr int kPerBlock = 4;

__constant__ float basis[64];

__global__ void dct_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t count) {
  __shared__ float pixels[kPerBlock][8][8];
  __shared__ float half_done[kPerBlock][8][8];
  const int c = threadIdx.x;
  const int r = threadIdx.y;
  const int slot = threadIdx.z;
  const int64_t which = static_cast<int64_t>(blockIdx.x) * kPerBlock + slot;
  pixels[slot][r][c] = which < count ? x[which * 64 + r * 8 + c] : 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int i = 0; i < 8; ++i) sum = fmaf(basis[r * 8 + i], pixels[slot][i][c], sum);
  half_done[slot][r][c] = sum;
  __syncthreads();
  sum = 0.0f;
  for (int i = 0; i < 8; ++i) sum = fmaf(half_done[slot][r][i], basis[c * 8 + i], sum);
  if (which < count) y[which * 64 + r * 8 + c] = sum;
}

torch::Tensor dct(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 3 && x.size(1) == 8 && x.size(2) == 8, "x must be [blocks, 8, 8]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  const int64_t count = x.size(0);
  if (count == 0) return y;
  float table[64];
  for (int k = 0; k < 8; ++k) {
    for (int n = 0; n < 8; ++n) {
      const double angle = 3.14159265358979323846 / 8.0 * (n + 0.5) * k;
      table[k * 8 + n] = static_cast<float>(k == 0 ? std::sqrt(0.125) : 0.5 * std::cos(angle));
    }
  }
  musaMemcpyToSymbol(basis, table, sizeof(table));
  dct_kernel<<<static_cast<unsigned>((count + kPerBlock - 1) / kPerBlock), dim3(8, 8, kPerBlock)>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), count);
  return y;
}
