# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void reverse_cumsum(const float* x, float* y, int rows, int length) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int i = length - 1; i >= 0; --i) {
        sum += x[row * length + i];
        y[row * length + i] = sum;
    }
}
torch::Tensor reverse_cumsum_cuda(torch::Tensor x) {
    auto c = x.contiguous();
    auto y = torch::empty_like(c);
    if (c.numel() == 0) return y;
    reverse_cumsum<<<(c.size(0) + 31) / 32, 32>>>(c.data_ptr<float>(), y.data_ptr<float>(), c.size(0), c.size(1));
    return y;
}
"""
ext = load_inline(name="reverse_cumsum", cpp_sources="torch::Tensor reverse_cumsum_cuda(torch::Tensor x);",
                  cuda_sources=source, functions=["reverse_cumsum_cuda"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        assert dim == 1
        self.dim = dim

    def forward(self, x):
        return ext.reverse_cumsum_cuda(x)
