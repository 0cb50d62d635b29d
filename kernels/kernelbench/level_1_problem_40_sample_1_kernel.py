# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

constexpr int kThreads = 256;

// Sums 32 lanes at a time, so the device's own warp may be wider.
__device__ float block_sum(float value) {
    __shared__ float partial[kThreads / 32];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset, 32);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    float total = 0.0f;
    for (int i = 0; i < kThreads / 32; ++i) total += partial[i];
    __syncthreads();
    return total;
}

// A block for each sample: mean and variance of all that is normalised together.
__global__ void layer_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                  const float* __restrict__ bias, float* __restrict__ y, int64_t length, float eps) {
    const float* in = x + blockIdx.x * length;
    float* out = y + blockIdx.x * length;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < length; i += kThreads) sum += in[i];
    const float mean = block_sum(sum) / length;
    float squares = 0.0f;
    for (int64_t i = threadIdx.x; i < length; i += kThreads) squares += (in[i] - mean) * (in[i] - mean);
    const float scale = 1.0f / sqrtf(block_sum(squares) / length + eps);
    for (int64_t i = threadIdx.x; i < length; i += kThreads) out[i] = (in[i] - mean) * scale * weight[i] + bias[i];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    const int64_t length = weight.numel();
    TORCH_CHECK(x.numel() % length == 0, "the input does not divide into what is normalised");
    layer_norm_kernel<<<x.numel() / length, kThreads>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                                        bias.data_ptr<float>(), y.data_ptr<float>(), length, eps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cpp_source = r"""
torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);
"""

ext = load_inline(
    name="level_1_problem_40_1",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["layer_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x):
        return ext.layer_norm(x, self.ln.weight, self.ln.bias, 1e-2)
