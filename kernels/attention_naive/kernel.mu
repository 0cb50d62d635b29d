// SPDX-License-Identifier: Apache-2.0
// Attention in three launches with the score matrix in global memory: scores, row softmax in place,
// weighted sum. Large but easy to check, and a yardstick for the fused form.
// kuafu: entry=attention args=q,k,v
#include <musa_runtime.h>
#include <torch/extension.h>

#include <cmath>

constexpr int kThreads = 128;

__global__ void scores_kernel(const float* __restrict__ q, const float* __restrict__ k,
                              float* __restrict__ scores, int64_t count, int64_t length,
                              int64_t dim, float scale) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    const int64_t query = i / length;  // counts through batch, head and position
    const int64_t key = query / length * length + i % length;
    float sum = 0.0f;
    for (int64_t d = 0; d < dim; ++d) sum = fmaf(q[query * dim + d], k[key * dim + d], sum);
    scores[i] = sum * scale;
  }
}

__global__ void softmax_kernel(float* scores, int64_t length) {
  __shared__ float scratch[kThreads];
  float* row = scores + blockIdx.x * length;
  const int tid = threadIdx.x;
  float peak = -INFINITY;
  for (int64_t i = tid; i < length; i += kThreads) peak = fmaxf(peak, row[i]);
  scratch[tid] = peak;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (tid < half) scratch[tid] = fmaxf(scratch[tid], scratch[tid + half]);
    __syncthreads();
  }
  peak = scratch[0];
  __syncthreads();
  float sum = 0.0f;
  for (int64_t i = tid; i < length; i += kThreads) {
    row[i] = expf(row[i] - peak);
    sum += row[i];
  }
  scratch[tid] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (tid < half) scratch[tid] += scratch[tid + half];
    __syncthreads();
  }
  for (int64_t i = tid; i < length; i += kThreads) row[i] /= scratch[0];
}

__global__ void values_kernel(const float* __restrict__ weights, const float* __restrict__ v,
                              float* __restrict__ out, int64_t count, int64_t length, int64_t dim) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    const int64_t query = i / dim;
    const int64_t d = i % dim;
    const float* values = v + query / length * length * dim;
    float sum = 0.0f;
    for (int64_t j = 0; j < length; ++j) {
      sum = fmaf(weights[query * length + j], values[j * dim + d], sum);
    }
    out[i] = sum;
  }
}

torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  TORCH_CHECK(q.dim() == 4, "q must be [batch, heads, length, dim]");
  TORCH_CHECK(q.sizes() == k.sizes() && q.sizes() == v.sizes(), "q, k, v must agree in shape");
  TORCH_CHECK(q.scalar_type() == torch::kFloat32, "q must be float32");
  q = q.contiguous();
  k = k.contiguous();
  v = v.contiguous();
  torch::Tensor out = torch::empty_like(q);
  if (q.numel() == 0) return out;
  const int64_t length = q.size(2);
  const int64_t dim = q.size(3);
  const int64_t queries = q.size(0) * q.size(1) * length;
  torch::Tensor scores = torch::empty({queries, length}, q.options());
  const int64_t pairs = queries * length;
  const float scale = 1.0f / sqrtf(static_cast<float>(dim));
  scores_kernel<<<static_cast<unsigned>((pairs + kThreads - 1) / kThreads), kThreads>>>(
      q.data_ptr<float>(), k.data_ptr<float>(), scores.data_ptr<float>(), pairs, length, dim,
      scale);
  softmax_kernel<<<static_cast<unsigned>(queries), kThreads>>>(scores.data_ptr<float>(), length);
  const int64_t count = q.numel();
  values_kernel<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads>>>(
      scores.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(), count, length, dim);
  return out;
}
