// SPDX-License-Identifier: Apache-2.0
// Cross entropy: a warp per row finds log-sum-exp minus the logit of the label, then one block adds
// the row losses in a fixed order and divides.
// kuafu: entry=cross_entropy args=logits,labels
#include <musa_runtime.h>
#include <torch/extension.h>

#include <cmath>

#define FULL_MASK 0xffffffffu

constexpr int kThreads = 128;

__global__ void row_losses(const float* __restrict__ logits, const int64_t* __restrict__ labels,
                           float* __restrict__ losses, int64_t rows, int64_t classes) {
  const int lane = threadIdx.x % warpSize;
  const int warps_per_block = blockDim.x / warpSize;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * warps_per_block;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * warps_per_block + threadIdx.x / warpSize;
       row < rows; row += warps) {
    const float* in = logits + row * classes;
    float peak = -INFINITY;
    for (int64_t i = lane; i < classes; i += warpSize) peak = fmaxf(peak, in[i]);
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
      peak = fmaxf(peak, __shfl_xor_sync(FULL_MASK, peak, offset));
    }
    float sum = 0.0f;
    for (int64_t i = lane; i < classes; i += warpSize) sum += expf(in[i] - peak);
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(FULL_MASK, sum, offset);
    }
    if (lane == 0) {
      const int64_t label = labels[row];
      const bool known = label >= 0 && label < classes;
      losses[row] = known ? logf(sum) - (in[label] - peak) : NAN;
    }
  }
}

__global__ void mean_kernel(const float* __restrict__ losses, float* __restrict__ out,
                            int64_t rows) {
  __shared__ float scratch[kThreads];
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < rows; i += kThreads) sum += losses[i];
  scratch[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[0] = scratch[0] / static_cast<float>(rows);
}

torch::Tensor cross_entropy(torch::Tensor logits, torch::Tensor labels) {
  TORCH_CHECK(logits.dim() == 2 && labels.numel() == logits.size(0), "shapes: [n, c] and [n]");
  TORCH_CHECK(logits.scalar_type() == torch::kFloat32, "logits must be float32");
  TORCH_CHECK(labels.scalar_type() == torch::kInt64, "labels must be int64");
  logits = logits.contiguous();
  labels = labels.contiguous();
  const int64_t rows = logits.size(0);
  torch::Tensor losses = torch::empty({rows}, logits.options());
  torch::Tensor out = torch::empty({1}, logits.options());
  if (rows > 0) {
    const int64_t wanted = (rows + 3) / 4;
    const unsigned blocks = static_cast<unsigned>(wanted < 1024 ? wanted : 1024);
    row_losses<<<blocks, kThreads>>>(logits.data_ptr<float>(), labels.data_ptr<int64_t>(),
                                     losses.data_ptr<float>(), rows, logits.size(1));
  }
  mean_kernel<<<1, kThreads>>>(losses.data_ptr<float>(), out.data_ptr<float>(), rows);
  return out;
}
