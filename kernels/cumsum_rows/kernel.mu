// SPDX-License-Identifier: Apache-2.0
// Running sum along rows, a block per row: shuffle scan in each warp, scan of the warp totals by
// the first thread, and a carry from chunk to chunk.
// kuafu: entry=cumsum args=x
#include <musa_runtime.h>
#include <torch/extension.h>

#define FULL_MASK 0xffffffffu

constexpr int kThreads = 256;
constexpr int kMaxWarps = kThreads / 32;

__global__ void cumsum_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t dim) {
  __shared__ float before[kMaxWarps + 1];  // sum of everything left of warp w; last = chunk total
  const int lane = threadIdx.x % warpSize;
  const int warp = threadIdx.x / warpSize;
  const int warps = kThreads / warpSize;
  const float* in = x + blockIdx.x * dim;
  float* out = y + blockIdx.x * dim;
  float carry = 0.0f;
  for (int64_t base = 0; base < dim; base += kThreads) {  // the same trip count for all threads
    const int64_t i = base + threadIdx.x;
    float value = i < dim ? in[i] : 0.0f;
    for (int offset = 1; offset < warpSize; offset *= 2) {
      const float left = __shfl_up_sync(FULL_MASK, value, offset);
      if (lane >= offset) value += left;
    }
    if (lane == warpSize - 1) before[warp + 1] = value;
    if (threadIdx.x == 0) before[0] = 0.0f;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w <= warps; ++w) before[w] += before[w - 1];
    }
    __syncthreads();
    if (i < dim) out[i] = carry + before[warp] + value;
    carry += before[warps];
    __syncthreads();  // the totals are rewritten by the next chunk
  }
}

torch::Tensor cumsum(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  if (x.numel() == 0) return y;
  cumsum_kernel<<<static_cast<unsigned>(x.size(0)), kThreads>>>(x.data_ptr<float>(),
                                                                y.data_ptr<float>(), x.size(1));
  return y;
}
