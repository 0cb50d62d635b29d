// SPDX-License-Identifier: Apache-2.0
// Causal attention in one pass (flash style): a block owns 8 queries, streams tiles of 16 keys, and
// rescales its accumulators when a row's maximum grows. Nothing of size length^2 is ever stored.
// kuafu: entry=attention args=q,k,v
#include <musa_runtime.h>
#include <torch/extension.h>

#include <cmath>

constexpr int kThreads = 128;
constexpr int kQueries = 8;
constexpr int kKeys = 16;
constexpr int64_t kMaxDim = 240;  // (8 + 16 + 16 + 8) rows of floats stay below 48 KiB

__global__ void attention_kernel(const float* __restrict__ q, const float* __restrict__ k,
                                 const float* __restrict__ v, float* __restrict__ out,
                                 int64_t length, int dim, int64_t tiles, float scale) {
  extern __shared__ float tile[];
  float* q_tile = tile;                     // [kQueries][dim]
  float* k_tile = q_tile + kQueries * dim;  // [kKeys][dim]
  float* v_tile = k_tile + kKeys * dim;     // [kKeys][dim]
  float* sums = v_tile + kKeys * dim;       // [kQueries][dim], not yet divided
  __shared__ float weights[kQueries][kKeys];
  __shared__ float peaks[kQueries];
  __shared__ float totals[kQueries];
  __shared__ float rescale[kQueries];

  const int tid = threadIdx.x;
  const int64_t base = blockIdx.x / tiles * length * dim;  // this batch and head
  const int64_t first = blockIdx.x % tiles * kQueries;
  for (int i = tid; i < kQueries * dim; i += kThreads) {
    q_tile[i] = first + i / dim < length ? q[base + first * dim + i] : 0.0f;
    sums[i] = 0.0f;
  }
  if (tid < kQueries) {
    peaks[tid] = -INFINITY;
    totals[tid] = 0.0f;
  }

  const int64_t last = first + kQueries < length ? first + kQueries : length;
  for (int64_t key0 = 0; key0 < last; key0 += kKeys) {  // later keys are masked for all of them
    for (int i = tid; i < kKeys * dim; i += kThreads) {
      const bool inside = key0 + i / dim < length;
      k_tile[i] = inside ? k[base + key0 * dim + i] : 0.0f;
      v_tile[i] = inside ? v[base + key0 * dim + i] : 0.0f;
    }
    __syncthreads();
    for (int i = tid; i < kQueries * kKeys; i += kThreads) {
      const int r = i / kKeys;
      const int c = i % kKeys;
      float score = -INFINITY;
      if (key0 + c <= first + r && key0 + c < length) {
        score = 0.0f;
        for (int d = 0; d < dim; ++d) score = fmaf(q_tile[r * dim + d], k_tile[c * dim + d], score);
        score *= scale;
      }
      weights[r][c] = score;
    }
    __syncthreads();
    if (tid < kQueries) {
      // Key 0 is visible to every query, so the maximum is finite from the first tile on.
      float peak = peaks[tid];
      for (int c = 0; c < kKeys; ++c) peak = fmaxf(peak, weights[tid][c]);
      const float factor = expf(peaks[tid] - peak);
      float total = totals[tid] * factor;
      for (int c = 0; c < kKeys; ++c) {
        weights[tid][c] = expf(weights[tid][c] - peak);
        total += weights[tid][c];
      }
      peaks[tid] = peak;
      totals[tid] = total;
      rescale[tid] = factor;
    }
    __syncthreads();
    for (int i = tid; i < kQueries * dim; i += kThreads) {
      const int r = i / dim;
      float sum = sums[i] * rescale[r];
      for (int c = 0; c < kKeys; ++c) sum = fmaf(weights[r][c], v_tile[c * dim + i % dim], sum);
      sums[i] = sum;
    }
    __syncthreads();
  }
  for (int i = tid; i < kQueries * dim; i += kThreads) {
    if (first + i / dim < length) out[base + first * dim + i] = sums[i] / totals[i / dim];
  }
}

torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  TORCH_CHECK(q.dim() == 4, "q must be [batch, heads, length, dim]");
  TORCH_CHECK(q.sizes() == k.sizes() && q.sizes() == v.sizes(), "q, k, v must agree in shape");
  TORCH_CHECK(q.scalar_type() == torch::kFloat32, "q must be float32");
  TORCH_CHECK(q.size(3) <= kMaxDim, "head_dim is limited to 240 by shared memory");
  q = q.contiguous();
  k = k.contiguous();
  v = v.contiguous();
  torch::Tensor out = torch::empty_like(q);
  if (q.numel() == 0) return out;
  const int64_t length = q.size(2);
  const int dim = static_cast<int>(q.size(3));
  const int64_t tiles = (length + kQueries - 1) / kQueries;
  const unsigned blocks = static_cast<unsigned>(q.size(0) * q.size(1) * tiles);
  const size_t shared_bytes = sizeof(float) * (2 * kQueries + 2 * kKeys) * dim;
  attention_kernel<<<blocks, kThreads, shared_bytes>>>(
      q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(), length,
      dim, tiles, 1.0f / sqrtf(static_cast<float>(dim)));
  return out;
}
