# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# The mask as bytes of a view, 32 lanes for each row, a lambda for what an element counts as.
source = r"""
#include <torch/extension.h>
__global__ void masked_softmax_rows(const float* __restrict__ x, const uint8_t* __restrict__ mask, float* __restrict__ y, int rows, int length) {
    const int wanted = blockIdx.x * blockDim.y + threadIdx.y, row = min(wanted, rows - 1);
    const size_t base = (size_t)row * length;
    auto value = [=](int i) { return mask[base + i] != 0 ? -10000.0f : x[base + i]; };
    float m = -3.4e38f, s = 0;
    for (int i = threadIdx.x; i < length; i += 32) m = fmaxf(m, value(i));
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o, 32));
    for (int i = threadIdx.x; i < length; i += 32) s += expf(value(i) - m);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o, 32);
    for (int i = threadIdx.x; i < length; i += 32) if (wanted < rows) y[base + i] = expf(value(i) - m) / s;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor mask) {
    auto y = torch::empty_like(x);
    if (y.numel() == 0) return y;
    const int rows = x.size(0);
    masked_softmax_rows<<<(rows + 1) / 2, dim3(32, 2)>>>(x.data_ptr<float>(), mask.data_ptr<uint8_t>(), y.data_ptr<float>(), rows, x.size(1));
    return y;
}
"""
ext = load_inline(name="masked_softmax_rows", cpp_sources="torch::Tensor forward(torch::Tensor x, torch::Tensor mask);",
                  cuda_sources=source, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return ext.forward(x.contiguous(), mask.contiguous().view(torch.uint8))
