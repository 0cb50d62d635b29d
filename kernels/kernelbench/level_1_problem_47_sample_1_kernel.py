# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

constexpr int kColumns = 32;
constexpr int kSlices = 8;

// A block of 32 x 8 threads sums 32 neighbouring slices, eight threads to a slice.
__global__ void sum_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t total, int64_t length,
                           int64_t inner) {
    __shared__ float partial[kSlices][kColumns];
    const int64_t index = blockIdx.x * (int64_t)kColumns + threadIdx.x;
    float sum = 0.0f;
    if (index < total) {
        const float* slice = x + index / inner * length * inner + index % inner;
        for (int64_t i = threadIdx.y; i < length; i += kSlices) sum += slice[i * inner];
    }
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || index >= total) return;
    for (int i = 1; i < kSlices; ++i) sum += partial[i][threadIdx.x];
    y[index] = sum;
}

torch::Tensor sum_dim(torch::Tensor x, int64_t dim) {
    if (dim < 0) dim += x.dim();
    TORCH_CHECK(dim >= 0 && dim < x.dim(), "no such dimension");
    x = x.contiguous();
    auto sizes = x.sizes().vec();
    const int64_t length = sizes[dim];
    sizes.erase(sizes.begin() + dim);
    auto y = torch::empty(sizes, x.options());
    const int64_t total = y.numel();
    if (total == 0) return y;
    sum_kernel<<<(total + kColumns - 1) / kColumns, dim3(kColumns, kSlices)>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), total, length, x.stride(dim));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cpp_source = r"""
torch::Tensor sum_dim(torch::Tensor x, int64_t dim);
"""

ext = load_inline(
    name="level_1_problem_47_1",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["sum_dim"],
)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return ext.sum_dim(x, self.dim)
