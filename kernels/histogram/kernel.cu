// SPDX-License-Identifier: Apache-2.0
// Histogram: a private copy per block in shared memory, filled by shared atomics, then added to the
// result by global atomics. Integer sums are exact, so the order cannot be seen.
// kuafu: entry=histogram args=x,bins
#include <cuda_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 32;
constexpr int64_t kMaxBins = 4096;  // 16 KiB of shared memory

__global__ void histogram_kernel(const int64_t* __restrict__ x, unsigned long long* counts,
                                 int64_t n, int bins) {
  extern __shared__ unsigned local_counts[];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) local_counts[b] = 0;
  __syncthreads();
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += stride) {
    const int64_t value = x[i];
    if (value >= 0 && value < bins) atomicAdd(&local_counts[value], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x) {
    if (local_counts[b] > 0) {
      atomicAdd(&counts[b], static_cast<unsigned long long>(local_counts[b]));
    }
  }
}

torch::Tensor histogram(torch::Tensor x, int64_t bins) {
  TORCH_CHECK(x.dim() == 1, "x must be a vector");
  TORCH_CHECK(x.scalar_type() == torch::kInt64, "x must be int64");
  TORCH_CHECK(bins > 0 && bins <= kMaxBins, "bins must be between 1 and 4096");
  x = x.contiguous();
  torch::Tensor counts = torch::zeros({bins}, x.options());
  const int64_t n = x.numel();
  if (n == 0) return counts;
  const int64_t wanted = (n + kThreads - 1) / kThreads;
  const unsigned blocks = static_cast<unsigned>(wanted < kMaxBlocks ? wanted : kMaxBlocks);
  histogram_kernel<<<blocks, kThreads, bins * sizeof(unsigned)>>>(
      x.data_ptr<int64_t>(), reinterpret_cast<unsigned long long*>(counts.data_ptr<int64_t>()), n,
      static_cast<int>(bins));
  return counts;
}
