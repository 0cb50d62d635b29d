// SPDX-License-Identifier: Apache-2.0
// Group norm, a block per (sample, group). A group is contiguous in NCHW, so it is one long row;
// only the scale and shift need the channel.
// kuafu: entry=group_norm args=x,norm.weight,norm.bias,groups,eps
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 128;

__device__ float block_sum(float value, float* scratch) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  const float total = scratch[0];
  __syncthreads();
  return total;
}

__global__ void group_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                  const float* __restrict__ bias, float* __restrict__ y,
                                  int64_t groups, int64_t channels_per_group, int64_t pixels,
                                  float eps) {
  __shared__ float scratch[kThreads];
  const int64_t size = channels_per_group * pixels;
  const int64_t first_channel = (blockIdx.x % groups) * channels_per_group;
  const float* in = x + blockIdx.x * size;
  float* out = y + blockIdx.x * size;
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < size; i += kThreads) sum += in[i];
  const float mean = block_sum(sum, scratch) / static_cast<float>(size);
  float squares = 0.0f;
  for (int64_t i = threadIdx.x; i < size; i += kThreads) {
    const float d = in[i] - mean;
    squares = fmaf(d, d, squares);
  }
  const float variance = block_sum(squares, scratch) / static_cast<float>(size);
  const float inverse = 1.0f / sqrtf(variance + eps);
  for (int64_t i = threadIdx.x; i < size; i += kThreads) {
    const int64_t channel = first_channel + i / pixels;
    out[i] = fmaf((in[i] - mean) * inverse, weight[channel], bias[channel]);
  }
}

torch::Tensor group_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups,
                         double eps) {
  TORCH_CHECK(x.dim() == 4, "x must be [batch, channels, height, width]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  TORCH_CHECK(groups > 0 && x.size(1) % groups == 0, "groups must divide the channels");
  x = x.contiguous();
  weight = weight.contiguous();
  bias = bias.contiguous();
  torch::Tensor y = torch::empty_like(x);
  if (x.numel() == 0) return y;
  group_norm_kernel<<<static_cast<unsigned>(x.size(0) * groups), kThreads>>>(
      x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
      groups, x.size(1) / groups, x.size(2) * x.size(3), static_cast<float>(eps));
  return y;
}
