// SPDX-License-Identifier: Apache-2.0
// Row sums, style 1 of 5: a block per row and a binary tree in shared memory.
// kuafu: entry=row_sum args=x
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;  // a power of two: the tree halves it

__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ out, int64_t dim) {
  __shared__ float partial[kThreads];
  const float* row = x + blockIdx.x * dim;
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < dim; i += kThreads) sum += row[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();  // outside the condition: every thread of the block arrives
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

torch::Tensor row_sum(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  const int64_t rows = x.size(0);
  torch::Tensor out = torch::empty({rows}, x.options());
  if (rows == 0) return out;  // with dim == 0 the kernel still runs and writes zeros
  row_sum_kernel<<<static_cast<unsigned>(rows), kThreads>>>(x.data_ptr<float>(),
                                                            out.data_ptr<float>(), x.size(1));
  return out;
}
