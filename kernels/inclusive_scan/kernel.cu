// SPDX-License-Identifier: Apache-2.0
// Inclusive scan of a long vector in three launches: scan each tile, scan the tile totals, add
// them. The tile scan is Hillis-Steele with two shared buffers, so that no thread reads what
// another writes.
// kuafu: entry=inclusive_scan args=x
#include <cuda_runtime.h>
#include <torch/extension.h>

constexpr int kTile = 512;

__global__ void scan_tiles(const float* __restrict__ x, float* __restrict__ y,
                           float* __restrict__ totals, int64_t count) {
  __shared__ float buffers[2][kTile];
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kTile + threadIdx.x;
  int current = 0;
  buffers[0][threadIdx.x] = i < count ? x[i] : 0.0f;
  __syncthreads();
  for (int offset = 1; offset < kTile; offset *= 2) {
    float value = buffers[current][threadIdx.x];
    if (threadIdx.x >= offset) value += buffers[current][threadIdx.x - offset];
    current ^= 1;
    buffers[current][threadIdx.x] = value;
    __syncthreads();
  }
  if (i < count) y[i] = buffers[current][threadIdx.x];
  if (threadIdx.x == kTile - 1) totals[blockIdx.x] = buffers[current][kTile - 1];
}

// One block turns the tile totals into exclusive offsets, in place, chunk by chunk.
__global__ void scan_totals(float* totals, int64_t tiles) {
  __shared__ float buffers[2][kTile];
  float carry = 0.0f;
  for (int64_t base = 0; base < tiles; base += kTile) {
    const int64_t i = base + threadIdx.x;
    const float own = i < tiles ? totals[i] : 0.0f;
    int current = 0;
    buffers[0][threadIdx.x] = own;
    __syncthreads();
    for (int offset = 1; offset < kTile; offset *= 2) {
      float value = buffers[current][threadIdx.x];
      if (threadIdx.x >= offset) value += buffers[current][threadIdx.x - offset];
      current ^= 1;
      buffers[current][threadIdx.x] = value;
      __syncthreads();
    }
    const float left = threadIdx.x == 0 ? 0.0f : buffers[current][threadIdx.x - 1];
    if (i < tiles) totals[i] = carry + left;
    carry += buffers[current][kTile - 1];
    __syncthreads();
  }
}

__global__ void add_offsets(float* y, const float* __restrict__ offsets, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kTile + threadIdx.x;
  if (i < count) y[i] += offsets[blockIdx.x];
}

torch::Tensor inclusive_scan(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 1, "x must be a vector");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  const int64_t count = x.numel();
  if (count == 0) return y;
  const int64_t tiles = (count + kTile - 1) / kTile;
  const unsigned blocks = static_cast<unsigned>(tiles);
  torch::Tensor totals = torch::empty({tiles}, x.options());
  scan_tiles<<<blocks, kTile>>>(x.data_ptr<float>(), y.data_ptr<float>(), totals.data_ptr<float>(),
                                count);
  scan_totals<<<1, kTile>>>(totals.data_ptr<float>(), tiles);
  add_offsets<<<blocks, kTile>>>(y.data_ptr<float>(), totals.data_ptr<float>(), count);
  return y;
}
