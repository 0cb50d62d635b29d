# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Shuffles within groups of 32 lanes, from the highest lane down.
source = r"""
#include <torch/extension.h>
__global__ void suffix_sums(const float* __restrict__ x, float* __restrict__ y, int rows, int length) {
    const int lane = threadIdx.x & 31, wanted = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    const int row = min(wanted, rows - 1);
    float carry = 0;
    for (int start = (length - 1) / 32 * 32; start >= 0; start -= 32) {
        const int i = start + lane;
        float v = i < length ? x[(size_t)row * length + i] : 0.0f;
        for (int o = 1; o < 32; o <<= 1) {
            const float other = __shfl_down_sync(0xffffffff, v, o, 32);
            if (lane + o < 32) v += other;
        }
        v += carry;
        if (i < length && wanted < rows) y[(size_t)row * length + i] = v;
        carry = __shfl_sync(0xffffffff, v, 0, 32);
    }
}
torch::Tensor suffix(torch::Tensor x, int64_t dim) {
    TORCH_CHECK_VALUE(dim == 1 || dim == -1, "only the last dimension");
    x = x.contiguous();
    torch::Tensor y = torch::empty(x.sizes(), x.options());
    if (x.numel() == 0) return y;
    suffix_sums<<<(x.size(0) + 1) / 2, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""
ext = load_inline(name="suffix_sums", cpp_sources="torch::Tensor suffix(torch::Tensor x, int64_t dim);",
                  cuda_sources=source, functions=["suffix"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return ext.suffix(x, self.dim)
