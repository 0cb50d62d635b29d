// SPDX-License-Identifier: Apache-2.0
// Row maximum with cooperative groups: tiles of 32 threads reduce by tile shuffles, the block group
// joins them. A tile of 32 is a whole warp or a quarter of one; the code is the same.
// kuafu: entry=row_max args=x
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <torch/extension.h>

#include <cmath>

namespace cg = cooperative_groups;

constexpr int kThreads = 128;
constexpr int kTile = 32;

// The larger of two; a NaN stays, as in PyTorch, where fmaxf would drop it.
__device__ float larger(float a, float b) { return a > b || isnan(a) ? a : b; }

__global__ void row_max_kernel(const float* __restrict__ x, float* __restrict__ out, int64_t dim) {
  __shared__ float tile_peak[kThreads / kTile];
  cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<kTile>(block);
  const float* row = x + blockIdx.x * dim;
  float peak = -INFINITY;
  for (int64_t i = block.thread_rank(); i < dim; i += kThreads) peak = larger(peak, row[i]);
  for (int offset = kTile / 2; offset > 0; offset /= 2) {
    peak = larger(peak, tile.shfl_down(peak, offset));
  }
  if (tile.thread_rank() == 0) tile_peak[block.thread_rank() / kTile] = peak;
  block.sync();
  if (block.thread_rank() == 0) {
    for (int t = 1; t < kThreads / kTile; ++t) peak = larger(peak, tile_peak[t]);
    out[blockIdx.x] = peak;
  }
}

torch::Tensor row_max(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  const int64_t rows = x.size(0);
  torch::Tensor out = torch::empty({rows}, x.options());
  if (rows == 0) return out;
  row_max_kernel<<<static_cast<unsigned>(rows), kThreads>>>(x.data_ptr<float>(),
                                                            out.data_ptr<float>(), x.size(1));
  return out;
}
