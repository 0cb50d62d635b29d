// SPDX-License-Identifier: Apache-2.0
// Row softmax, a block per row: one shared-memory tree finds the maximum, a second one the sum of
// the exponentials. Right for every shape and at every warp width.
// kuafu: entry=softmax args=x
#include <musa_runtime.h>
#include <torch/extension.h>

#include <cmath>

constexpr int kThreads = 256;

__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t dim) {
  __shared__ float scratch[kThreads];
  const float* in = x + blockIdx.x * dim;
  float* out = y + blockIdx.x * dim;
  const int tid = threadIdx.x;

  float peak = -INFINITY;
  for (int64_t i = tid; i < dim; i += kThreads) peak = fmaxf(peak, in[i]);
  scratch[tid] = peak;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (tid < half) scratch[tid] = fmaxf(scratch[tid], scratch[tid + half]);
    __syncthreads();
  }
  peak = scratch[0];
  __syncthreads();  // everyone has read the maximum before the scratch is used again

  float sum = 0.0f;
  for (int64_t i = tid; i < dim; i += kThreads) sum += expf(in[i] - peak);
  scratch[tid] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (tid < half) scratch[tid] += scratch[tid + half];
    __syncthreads();
  }
  sum = scratch[0];
  for (int64_t i = tid; i < dim; i += kThreads) out[i] = expf(in[i] - peak) / sum;
}

torch::Tensor softmax(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  if (x.numel() == 0) return y;  // a grid of zero blocks is an invalid launch
  softmax_kernel<<<static_cast<unsigned>(x.size(0)), kThreads>>>(x.data_ptr<float>(),
                                                                 y.data_ptr<float>(), x.size(1));
  return y;
}
