# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cub/block/block_reduce.cuh>

constexpr int kThreads = 160;

__global__ void row_norm_kernel(const float* __restrict__ x, float* __restrict__ y, int dim) {
    typedef cub::BlockReduce<float, kThreads> BlockReduce;
    __shared__ typename BlockReduce::TempStorage temp_storage;
    __shared__ float scale;

    const float* row = x + (size_t)blockIdx.x * dim;
    float* out = y + (size_t)blockIdx.x * dim;
    float local = 0.f;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) local += row[i] * row[i];
    const float sum = BlockReduce(temp_storage).Sum(local);
    if (threadIdx.x == 0) scale = 1.f / sqrtf(sum);
    __syncthreads();
    for (int i = threadIdx.x; i < dim; i += blockDim.x) out[i] = row[i] * scale;
}

torch::Tensor row_norm(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 2, "expected rows on the GPU");
    auto y = torch::empty_like(x);
    row_norm_kernel<<<x.size(0), kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.size(1));
    return y;
}
"""

row_norm = load_inline(
    name="cub_row_norm",
    cpp_sources="torch::Tensor row_norm(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["row_norm"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.row_norm = row_norm

    def forward(self, x):
        return self.row_norm.row_norm(x)
