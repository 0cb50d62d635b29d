// SPDX-License-Identifier: Apache-2.0
// L1 norm, style 5 of 5: a grid-stride loop, and the block that takes the last ticket adds up the
// partials. The fence publishes each partial before its ticket; the sum is in a fixed order.
// kuafu: entry=l1_norm args=x
#include <cuda_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 96;

__device__ float block_sum(float value, float* scratch) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  const float total = scratch[0];
  __syncthreads();  // the scratch may be written again after this
  return total;
}

__global__ void l1_kernel(const float* __restrict__ x, float* partial, unsigned* tickets,
                          float* out, int64_t count) {
  __shared__ float scratch[kThreads];
  __shared__ bool is_last;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  float sum = 0.0f;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += stride) {
    sum += fabsf(x[i]);
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();  // the partial is visible before the ticket says so
    is_last = atomicAdd(tickets, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last) {      // the same for the whole block, so the barriers inside are met by all
    __threadfence();  // pairs with the fence of each writer
    const volatile float* published = partial;  // past any stale cache line
    sum = 0.0f;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += kThreads) sum += published[i];
    sum = block_sum(sum, scratch);
    if (threadIdx.x == 0) out[0] = sum;
  }
}

torch::Tensor l1_norm(torch::Tensor x) {
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  const int64_t count = x.numel();
  torch::Tensor out = torch::zeros({1}, x.options());
  if (count == 0) return out;
  const int64_t wanted = (count + kThreads - 1) / kThreads;
  const int64_t blocks = wanted < kMaxBlocks ? wanted : kMaxBlocks;
  torch::Tensor partial = torch::empty({blocks}, x.options());
  torch::Tensor tickets = torch::zeros({1}, x.options().dtype(torch::kInt32));
  l1_kernel<<<static_cast<unsigned>(blocks), kThreads>>>(
      x.data_ptr<float>(), partial.data_ptr<float>(),
      reinterpret_cast<unsigned*>(tickets.data_ptr<int>()), out.data_ptr<float>(), count);
  return out;
}
