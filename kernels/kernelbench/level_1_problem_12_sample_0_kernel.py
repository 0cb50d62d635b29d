# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

__global__ void scale_rows_kernel(const float* __restrict__ diagonal, const float* __restrict__ b,
                                  float* __restrict__ y, int64_t total, int64_t columns) {
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < total; i += step) {
        y[i] = diagonal[i / columns] * b[i];
    }
}

torch::Tensor diagonal_matmul(torch::Tensor diagonal, torch::Tensor b) {
    TORCH_CHECK(diagonal.dim() == 1 && b.dim() == 2 && diagonal.size(0) == b.size(0), "the sizes do not fit");
    diagonal = diagonal.contiguous();
    b = b.contiguous();
    auto y = torch::empty_like(b);
    const int64_t total = b.numel();
    if (total == 0) return y;
    const int blocks = std::min<int64_t>((total + 255) / 256, 65535);
    scale_rows_kernel<<<blocks, 256>>>(diagonal.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), total,
                                       b.size(1));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cpp_source = r"""
torch::Tensor diagonal_matmul(torch::Tensor diagonal, torch::Tensor b);
"""

ext = load_inline(
    name="level_1_problem_12",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["diagonal_matmul"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return ext.diagonal_matmul(A, B)
