# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

constexpr int kThreads = 256;

// A block multiplies along one slice along the dimension, 256 elements at a time, with a carry.
__global__ void cumprod_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t length,
                              int64_t step) {
    __shared__ float scratch[2][kThreads];
    __shared__ float carry;
    const int tid = threadIdx.x;
    const int64_t slice = blockIdx.x / step * length * step + blockIdx.x % step;
    if (tid == 0) carry = 1.0f;
    for (int64_t begin = 0; begin < length; begin += kThreads) {
        const int64_t i = begin + tid;
        int from = 0;
        scratch[0][tid] = i < length ? x[slice + i * step] : 1.0f;
        __syncthreads();
        for (int offset = 1; offset < kThreads; offset *= 2) {
            const float left = tid >= offset ? scratch[from][tid - offset] : 1.0f;
            scratch[1 - from][tid] = scratch[from][tid] * left;
            from = 1 - from;
            __syncthreads();
        }
        const float product = carry * scratch[from][tid];
        if (i < length) y[slice + i * step] = product;
        __syncthreads();
        if (tid == kThreads - 1) carry = product;
        __syncthreads();
    }
}

torch::Tensor cumprod(torch::Tensor x, int64_t dim) {
    if (dim < 0) dim += x.dim();
    TORCH_CHECK(dim >= 0 && dim < x.dim(), "no such dimension");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    const int64_t length = x.size(dim);
    cumprod_kernel<<<x.numel() / length, kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), length, x.stride(dim));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cpp_source = r"""
torch::Tensor cumprod(torch::Tensor x, int64_t dim);
"""

ext = load_inline(
    name="level_1_problem_90",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["cumprod"],
)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return ext.cumprod(x, self.dim)
