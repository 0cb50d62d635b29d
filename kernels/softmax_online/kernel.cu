// SPDX-License-Identifier: Apache-2.0
// Online softmax with a warp per row: one pass keeps (maximum, rescaled sum), shuffles merge the
// lanes. Rows are strided over all warps of the grid, so that the grid need not know the warp
// width.
// kuafu: entry=softmax args=x
#include <cuda_runtime.h>
#include <torch/extension.h>

#include <cmath>

#define FULL_MASK 0xffffffffu

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 1024;

// Merges the running pair (peak, sum) with another; an empty side has peak -inf and sum 0.
__device__ void merge(float& peak, float& sum, float other_peak, float other_sum) {
  const float top = fmaxf(peak, other_peak);
  const float mine = peak == top ? 1.0f : expf(peak - top);  // avoids inf - inf when both are -inf
  const float theirs = other_peak == top ? 1.0f : expf(other_peak - top);
  sum = sum * mine + other_sum * theirs;
  peak = top;
}

__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t rows,
                               int64_t dim) {
  const int lane = threadIdx.x % warpSize;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (blockDim.x / warpSize);
  int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / warpSize) + threadIdx.x / warpSize;
  for (; row < rows; row += warps) {  // uniform within a warp: the shuffles see every lane
    const float* in = x + row * dim;
    float* out = y + row * dim;
    float peak = -INFINITY;
    float sum = 0.0f;
    for (int64_t i = lane; i < dim; i += warpSize) merge(peak, sum, in[i], 1.0f);
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
      const float other_peak = __shfl_xor_sync(FULL_MASK, peak, offset);
      const float other_sum = __shfl_xor_sync(FULL_MASK, sum, offset);
      merge(peak, sum, other_peak, other_sum);
    }
    for (int64_t i = lane; i < dim; i += warpSize) out[i] = expf(in[i] - peak) / sum;
  }
}

torch::Tensor softmax(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  if (x.numel() == 0) return y;
  const int64_t wanted = (x.size(0) + 7) / 8;
  const unsigned blocks = static_cast<unsigned>(wanted < kMaxBlocks ? wanted : kMaxBlocks);
  softmax_kernel<<<blocks, kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0),
                                       x.size(1));
  return y;
}
