# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# The summed dimension goes last by a view; a block adds a row through shared memory.
source = """
#include <torch/extension.h>
__global__ void sum_last(const float* x, float* y, int length) {
    __shared__ float part[96];
    float s = 0;
    for (int i = threadIdx.x; i < length; i += blockDim.x) s += x[(size_t)blockIdx.x * length + i];
    part[threadIdx.x] = s;
    __syncthreads();
    // 96 is no power of two: 48, 24, 12, 6, 3 and then the last three.
    for (int n = 48; n >= 3; n /= 2) {
        if (threadIdx.x < n) part[threadIdx.x] += part[threadIdx.x + n];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = part[0] + part[1] + part[2];
}
"""
cpp = """
torch::Tensor sum_last_forward(torch::Tensor x);
"""
host = """
torch::Tensor sum_last_forward(torch::Tensor x) {
    auto shape = x.sizes().slice(0, x.dim() - 1).vec();
    auto y = torch::empty(shape, x.options());
    if (y.numel() > 0) sum_last<<<dim3(y.numel()), dim3(96)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(-1));
    return y;
}
"""
ext = load_inline(name="sum_last", cpp_sources=[cpp], cuda_sources=[source + host], functions=["sum_last_forward"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return ext.sum_last_forward(x.movedim(self.dim, -1).contiguous()).unsqueeze(self.dim)
