# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void sum_middle(const float* __restrict__ x, float* __restrict__ y, int outer, int length, int inner) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= outer * inner) return;
    const float* p = x + (i / inner) * length * inner + i % inner;
    float s = 0.0f, lost = 0.0f;
    for (int k = 0; k < length; ++k) {
        float v = p[k * inner] - lost, t = s + v;
        lost = (t - s) - v;
        s = t;
    }
    y[i] = s;
}
torch::Tensor sum_middle_cuda(torch::Tensor x, int outer, int length, int inner) {
    auto y = torch::zeros({outer, inner}, x.options());
    int n = outer * inner;
    if (n > 0) sum_middle<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), outer, length, inner);
    return y;
}
"""
ext = load_inline(name="sum_middle", cpp_sources="torch::Tensor sum_middle_cuda(torch::Tensor x, int outer, int length, int inner);",
                  cuda_sources=source, functions=["sum_middle_cuda"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        dim = self.dim % x.dim()
        shape = list(x.shape)
        outer = 1
        for size in shape[:dim]:
            outer *= size
        inner = 1
        for size in shape[dim + 1:]:
            inner *= size
        out = ext.sum_middle_cuda(x.contiguous(), outer, shape[dim], inner)
        shape[dim] = 1
        return out.reshape(shape)
