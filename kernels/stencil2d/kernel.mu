// SPDX-License-Identifier: Apache-2.0
// Five-point heat step with a shared tile and halo; indices are clamped to the field, which is the
// boundary condition and keeps every read inside.
// kuafu: entry=heat_step args=x
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kTileX = 32;
constexpr int kTileY = 8;

__device__ int64_t clamp_to(int64_t i, int64_t count) {
  return i < 0 ? 0 : (i < count ? i : count - 1);
}

__global__ void heat_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t height,
                            int64_t width, int64_t tiles_across) {
  __shared__ float tile[kTileY + 2][kTileX + 2];
  const int64_t row0 = blockIdx.x / tiles_across * kTileY;
  const int64_t column0 = blockIdx.x % tiles_across * kTileX;
  const int tid = threadIdx.y * kTileX + threadIdx.x;
  for (int i = tid; i < (kTileY + 2) * (kTileX + 2); i += kTileX * kTileY) {
    const int r = i / (kTileX + 2);
    const int c = i % (kTileX + 2);
    const int64_t h = clamp_to(row0 + r - 1, height);
    const int64_t w = clamp_to(column0 + c - 1, width);
    tile[r][c] = x[h * width + w];
  }
  __syncthreads();
  const int64_t row = row0 + threadIdx.y;
  const int64_t column = column0 + threadIdx.x;
  if (row < height && column < width) {
    const int r = threadIdx.y + 1;
    const int c = threadIdx.x + 1;
    const float around = tile[r - 1][c] + tile[r + 1][c] + tile[r][c - 1] + tile[r][c + 1];
    y[row * width + column] = fmaf(0.2f, around - 4.0f * tile[r][c], tile[r][c]);
  }
}

torch::Tensor heat_step(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be [height, width]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  if (x.numel() == 0) return y;
  const int64_t across = (x.size(1) + kTileX - 1) / kTileX;
  const int64_t down = (x.size(0) + kTileY - 1) / kTileY;
  heat_kernel<<<static_cast<unsigned>(across * down), dim3(kTileX, kTileY)>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1), across);
  return y;
}
