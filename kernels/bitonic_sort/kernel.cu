// SPDX-License-Identifier: Apache-2.0
// Bitonic sort of rows in shared memory; a row is padded with +inf to a power of two, and the
// padding ends up behind the data.
// kuafu: entry=sort_rows args=x
#include <cuda_runtime.h>
#include <torch/extension.h>

#include <cmath>

constexpr int kThreads = 128;
constexpr int64_t kMaxDim = 4096;

__global__ void sort_kernel(const float* __restrict__ x, float* __restrict__ y, int dim,
                            int padded) {
  extern __shared__ float keys[];
  const int64_t base = static_cast<int64_t>(blockIdx.x) * dim;
  for (int i = threadIdx.x; i < padded; i += kThreads) keys[i] = i < dim ? x[base + i] : INFINITY;
  __syncthreads();
  for (int run = 2; run <= padded; run *= 2) {
    for (int gap = run / 2; gap > 0; gap /= 2) {
      // One thread handles a pair, the one that holds the lower index.
      for (int i = threadIdx.x; i < padded; i += kThreads) {
        const int j = i ^ gap;
        if (j > i) {
          const float a = keys[i];
          const float b = keys[j];
          const bool ascending = (i & run) == 0;
          if (ascending ? a > b : a < b) {
            keys[i] = b;
            keys[j] = a;
          }
        }
      }
      __syncthreads();
    }
  }
  for (int i = threadIdx.x; i < dim; i += kThreads) y[base + i] = keys[i];
}

torch::Tensor sort_rows(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  TORCH_CHECK(x.size(1) <= kMaxDim, "a row is limited to 4096 elements by shared memory");
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  if (x.numel() == 0) return y;
  int padded = 1;
  while (padded < x.size(1)) padded *= 2;
  sort_kernel<<<static_cast<unsigned>(x.size(0)), kThreads, padded * sizeof(float)>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), static_cast<int>(x.size(1)), padded);
  return y;
}
