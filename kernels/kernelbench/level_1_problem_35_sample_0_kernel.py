# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

constexpr int kThreads = 256;

__device__ float block_sum(float value) {
    __shared__ float scratch[kThreads];
    scratch[threadIdx.x] = value;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
        __syncthreads();
    }
    const float total = scratch[0];
    __syncthreads();  // the next call writes the same memory
    return total;
}

// A block for each group of channels of each sample.
__global__ void group_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                  const float* __restrict__ bias, float* __restrict__ y, int64_t channels,
                                  int64_t groups, int64_t plane, float eps) {
    const int64_t group_channels = channels / groups;
    const int64_t length = group_channels * plane;
    const int64_t first_channel = blockIdx.x % groups * group_channels;
    const float* in = x + blockIdx.x * length;
    float* out = y + blockIdx.x * length;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < length; i += kThreads) sum += in[i];
    const float mean = block_sum(sum) / length;
    float squares = 0.0f;
    for (int64_t i = threadIdx.x; i < length; i += kThreads) squares += (in[i] - mean) * (in[i] - mean);
    const float scale = 1.0f / sqrtf(block_sum(squares) / length + eps);
    for (int64_t i = threadIdx.x; i < length; i += kThreads) {
        const int64_t c = first_channel + i / plane;
        out[i] = (in[i] - mean) * scale * weight[c] + bias[c];
    }
}

torch::Tensor group_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups, double eps) {
    TORCH_CHECK(x.dim() >= 2 && x.size(1) % groups == 0, "the channels do not divide into the groups");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    const int64_t batch = x.size(0), channels = x.size(1), plane = x.numel() / (batch * channels);
    group_norm_kernel<<<batch * groups, kThreads>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                                    bias.data_ptr<float>(), y.data_ptr<float>(), channels, groups,
                                                    plane, eps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cpp_source = r"""
torch::Tensor group_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups, double eps);
"""

ext = load_inline(
    name="level_1_problem_35",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["group_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features, num_groups):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups=num_groups, num_channels=num_features)

    def forward(self, x):
        gn = self.gn
        return ext.group_norm(x, gn.weight, gn.bias, gn.num_groups, gn.eps)
