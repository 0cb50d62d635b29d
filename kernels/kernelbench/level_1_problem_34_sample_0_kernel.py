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

// A block normalises `length` consecutive elements.
__global__ void instance_norm_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t length, float eps) {
    const float* in = x + blockIdx.x * length;
    float* out = y + blockIdx.x * length;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < length; i += kThreads) sum += in[i];
    const float mean = block_sum(sum) / length;
    float squares = 0.0f;
    for (int64_t i = threadIdx.x; i < length; i += kThreads) squares += (in[i] - mean) * (in[i] - mean);
    const float scale = 1.0f / sqrtf(block_sum(squares) / length + eps);
    for (int64_t i = threadIdx.x; i < length; i += kThreads) out[i] = (in[i] - mean) * scale;
}

torch::Tensor instance_norm(torch::Tensor x, double eps) {
    TORCH_CHECK(x.dim() == 4, "four dimensions expected");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    const int64_t plane = x.size(2) * x.size(3);
    TORCH_CHECK(plane > 1, "Expected more than 1 spatial element when training");
    instance_norm_kernel<<<x.size(0) * x.size(1), kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), plane, eps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cpp_source = r"""
torch::Tensor instance_norm(torch::Tensor x, double eps);
"""

ext = load_inline(
    name="level_1_problem_34",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["instance_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features):
        super().__init__()
        self.inorm = nn.InstanceNorm2d(num_features=num_features)

    def forward(self, x):
        return ext.instance_norm(x, self.inorm.eps)
