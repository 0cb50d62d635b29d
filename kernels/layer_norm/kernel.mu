// SPDX-License-Identifier: Apache-2.0
// Layer norm, a block per row. Two passes: the mean first, then the mean of squared deviations,
// since E[x^2] - E[x]^2 loses everything when the mean is large against the spread.
// kuafu: entry=layer_norm args=x,norm.weight,norm.bias,eps
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;

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

__global__ void layer_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                  const float* __restrict__ bias, float* __restrict__ y,
                                  int64_t dim, float eps) {
  __shared__ float scratch[kThreads];
  const float* in = x + blockIdx.x * dim;
  float* out = y + blockIdx.x * dim;
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < dim; i += kThreads) sum += in[i];
  const float mean = block_sum(sum, scratch) / static_cast<float>(dim);
  float squares = 0.0f;
  for (int64_t i = threadIdx.x; i < dim; i += kThreads) {
    const float d = in[i] - mean;
    squares = fmaf(d, d, squares);
  }
  const float variance = block_sum(squares, scratch) / static_cast<float>(dim);
  const float inverse = 1.0f / sqrtf(variance + eps);
  for (int64_t i = threadIdx.x; i < dim; i += kThreads) {
    out[i] = fmaf((in[i] - mean) * inverse, weight[i], bias[i]);
  }
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  TORCH_CHECK(weight.numel() == x.size(1) && bias.numel() == x.size(1), "weight and bias: [dim]");
  x = x.contiguous();
  weight = weight.contiguous();
  bias = bias.contiguous();
  torch::Tensor y = torch::empty_like(x);
  if (x.numel() == 0) return y;
  layer_norm_kernel<<<static_cast<unsigned>(x.size(0)), kThreads>>>(
      x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
      x.size(1), static_cast<float>(eps));
  return y;
}
