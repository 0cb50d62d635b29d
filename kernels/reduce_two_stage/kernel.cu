// SPDX-License-Identifier: Apache-2.0
// Sum of squares, style 3 of 5: one partial per block, then a second launch of a single block.
// The launch boundary is the grid-wide barrier, and the result does not depend on block order.
// kuafu: entry=sum_of_squares args=x
#include <cuda_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 128;

__device__ float block_sum(float value, float* scratch) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  return scratch[0];
}

__global__ void square_stage(const float* __restrict__ x, float* __restrict__ partial,
                             int64_t count) {
  __shared__ float scratch[kThreads];
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  float sum = 0.0f;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += stride) {
    sum = fmaf(x[i], x[i], sum);
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void final_stage(const float* __restrict__ partial, float* __restrict__ out, int count) {
  __shared__ float scratch[kThreads];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < count; i += kThreads) sum += partial[i];
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) out[0] = sum;
}

torch::Tensor sum_of_squares(torch::Tensor x) {
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  const int64_t count = x.numel();
  if (count == 0) return torch::zeros({1}, x.options());
  const int64_t wanted = (count + kThreads - 1) / kThreads;
  const int64_t blocks = wanted < kMaxBlocks ? wanted : kMaxBlocks;
  torch::Tensor partial = torch::empty({blocks}, x.options());
  torch::Tensor out = torch::empty({1}, x.options());
  square_stage<<<static_cast<unsigned>(blocks), kThreads>>>(x.data_ptr<float>(),
                                                            partial.data_ptr<float>(), count);
  final_stage<<<1, kThreads>>>(partial.data_ptr<float>(), out.data_ptr<float>(),
                               static_cast<int>(blocks));
  return out;
}
