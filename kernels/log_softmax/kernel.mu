// SPDX-License-Identifier: Apache-2.0
// Row log-softmax, x - max - log(sum(exp(x - max))), with shuffle reductions through one shared
// slot per warp; every thread of the block gets the totals.
// kuafu: entry=log_softmax args=x
#include <musa_runtime.h>
#include <torch/extension.h>

#include <cmath>

#define FULL_MASK 0xffffffffu

constexpr int kThreads = 256;
constexpr int kMaxWarps = kThreads / 32;

struct Max {
  static __device__ float identity() { return -INFINITY; }
  static __device__ float apply(float a, float b) { return fmaxf(a, b); }
};
struct Sum {
  static __device__ float identity() { return 0.0f; }
  static __device__ float apply(float a, float b) { return a + b; }
};

template <typename Op>
__device__ float block_all_reduce(float value, float* slots) {
  const int lane = threadIdx.x % warpSize;
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    value = Op::apply(value, __shfl_xor_sync(FULL_MASK, value, offset));
  }
  if (lane == 0) slots[threadIdx.x / warpSize] = value;
  __syncthreads();
  // At most 8 slots: every thread folds them itself, which saves a second broadcast.
  value = Op::identity();
  for (int warp = 0; warp < blockDim.x / warpSize; ++warp) value = Op::apply(value, slots[warp]);
  __syncthreads();  // the slots are free for the next reduction
  return value;
}

__global__ void log_softmax_kernel(const float* __restrict__ x, float* __restrict__ y,
                                   int64_t dim) {
  __shared__ float slots[kMaxWarps];
  const float* in = x + blockIdx.x * dim;
  float* out = y + blockIdx.x * dim;
  float peak = -INFINITY;
  for (int64_t i = threadIdx.x; i < dim; i += kThreads) peak = fmaxf(peak, in[i]);
  peak = block_all_reduce<Max>(peak, slots);
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < dim; i += kThreads) sum += expf(in[i] - peak);
  const float log_sum = logf(block_all_reduce<Sum>(sum, slots));
  for (int64_t i = threadIdx.x; i < dim; i += kThreads) out[i] = in[i] - peak - log_sum;
}

torch::Tensor log_softmax(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  if (x.numel() == 0) return y;
  log_softmax_kernel<<<static_cast<unsigned>(x.size(0)), kThreads>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
