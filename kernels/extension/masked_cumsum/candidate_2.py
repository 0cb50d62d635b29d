# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void masked_cumsum_rows(const float* x, const bool* mask, float* y, int outer, int length, int inner) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= outer * inner) return;
    int at = i / inner * length * inner + i % inner;
    double sum = 0;
    for (int k = 0; k < length; ++k, at += inner) {
        sum += x[at] * (mask[at] ? 1.0f : 0.0f);
        y[at] = sum;
    }
}
torch::Tensor masked_cumsum(torch::Tensor x, torch::Tensor mask, int64_t dim) {
    TORCH_CHECK(x.sizes() == mask.sizes(), "x and mask differ in shape");
    x = x.contiguous();
    mask = mask.contiguous();
    auto y = torch::empty_like(x);
    int inner = 1, length = x.size(dim);
    for (int64_t d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
    int outer = x.numel() / std::max(1, inner * length);
    if (y.numel()) masked_cumsum_rows<<<(outer * inner + 31) / 32, 32>>>(x.data_ptr<float>(), mask.data_ptr<bool>(), y.data_ptr<float>(), outer, length, inner);
    return y;
}
"""
ext = load_inline(name="masked_cumsum_rows", cpp_sources="torch::Tensor masked_cumsum(torch::Tensor x, torch::Tensor mask, int64_t dim);",
                  cuda_sources=source, functions=["masked_cumsum"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x, mask):
        return ext.masked_cumsum(x, mask, self.dim)
