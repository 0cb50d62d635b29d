// SPDX-License-Identifier: Apache-2.0
// Top-k values for small k, a block per row: k rounds, each finds the best element that comes after
// the previous one in the order (value descending, index ascending). No marks, no copy of the row.
// kuafu: entry=top_k args=x,k
#include <musa_runtime.h>
#include <torch/extension.h>

#include <cmath>

constexpr int kThreads = 128;

// True if (value, index) comes before (other, other_index) in the order of the result.
__device__ bool before(float value, int64_t index, float other, int64_t other_index) {
  return value > other || (value == other && index < other_index);
}

__global__ void top_k_kernel(const float* __restrict__ x, float* __restrict__ out, int64_t dim,
                             int64_t k) {
  __shared__ float values[kThreads];
  __shared__ int64_t indices[kThreads];
  const float* row = x + blockIdx.x * dim;
  const int tid = threadIdx.x;
  float last = INFINITY;  // the element chosen in the round before; index -1 precedes all
  int64_t last_index = -1;
  for (int64_t round = 0; round < k; ++round) {
    float best = -INFINITY;
    int64_t best_index = dim;  // dim = nothing found; it loses every tie
    for (int64_t i = tid; i < dim; i += kThreads) {
      if (before(last, last_index, row[i], i) && before(row[i], i, best, best_index)) {
        best = row[i];
        best_index = i;
      }
    }
    values[tid] = best;
    indices[tid] = best_index;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
      if (tid < half &&
          before(values[tid + half], indices[tid + half], values[tid], indices[tid])) {
        values[tid] = values[tid + half];
        indices[tid] = indices[tid + half];
      }
      __syncthreads();
    }
    last = values[0];
    last_index = indices[0];
    __syncthreads();  // all have read the winner before the next round writes
    if (tid == 0) out[blockIdx.x * k + round] = last;
  }
}

torch::Tensor top_k(torch::Tensor x, int64_t k) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  TORCH_CHECK(k >= 0 && k <= x.size(1), "k must not exceed the row length");
  x = x.contiguous();
  torch::Tensor out = torch::empty({x.size(0), k}, x.options());
  if (out.numel() == 0) return out;
  top_k_kernel<<<static_cast<unsigned>(x.size(0)), kThreads>>>(x.data_ptr<float>(),
                                                               out.data_ptr<float>(), x.size(1), k);
  return out;
}
