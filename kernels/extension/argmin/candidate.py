# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void argmin_kernel(const float* x, int64_t* y, int outer, int length, int inner) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= outer * inner) return;
    const float* p = x + i / inner * length * inner + i % inner;
    float best = p[0];
    int64_t at = 0;
    for (int k = 1; k < length; ++k) {
        float v = p[k * inner];
        if (v < best || (v != v && best == best)) { best = v; at = k; }
    }
    y[i] = at;
}
torch::Tensor argmin(torch::Tensor x, int64_t dim) {
    x = x.contiguous();
    dim = dim < 0 ? dim + x.dim() : dim;
    std::vector<int64_t> shape;
    int outer = 1, inner = 1;
    for (int64_t d = 0; d < x.dim(); ++d) {
        if (d != dim) shape.push_back(x.size(d));
        if (d < dim) outer *= x.size(d);
        if (d > dim) inner *= x.size(d);
    }
    auto y = torch::empty(shape, x.options().dtype(torch::kInt64));
    if (y.numel()) argmin_kernel<<<(outer * inner + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<int64_t>(), outer, x.size(dim), inner);
    return y;
}
"""
ext = load_inline(name="argmin", cpp_sources="torch::Tensor argmin(torch::Tensor x, int64_t dim);", cuda_sources=source,
                  functions=["argmin"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return ext.argmin(x, self.dim)
