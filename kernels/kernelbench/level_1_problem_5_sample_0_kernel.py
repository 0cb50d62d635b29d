# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

__global__ void scale_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n, float s) {
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += step) {
        const float v = x[i];
        y[i] = v * s;
    }
}

torch::Tensor scale_forward(torch::Tensor x, double s) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    if (n == 0) return y;
    const int threads = 256;
    const int blocks = std::min<int64_t>((n + threads - 1) / threads, 65535);
    scale_kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, (float)s);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cpp_source = r"""
torch::Tensor scale_forward(torch::Tensor x, double s);
"""

ext = load_inline(
    name="level_1_problem_5",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["scale_forward"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, s):
        return ext.scale_forward(A, s)
