# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Any strides by an accessor of two dimensions; a block of two dimensions.
source = """
#include <torch/extension.h>
__global__ void relu_2d(torch::PackedTensorAccessor64<float, 2> x, torch::PackedTensorAccessor64<float, 2> y) {
    const auto c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < x.size(0) && c < x.size(1)) y[r][c] = x[r][c] > 0.0f ? x[r][c] : 0.0f;
}
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty(x.sizes(), x.options());
    const dim3 threads(32, 8), blocks((x.size(1) + 31) / 32, (x.size(0) + 7) / 8);
    if (y.numel() > 0) relu_2d<<<blocks, threads>>>(x.packed_accessor64<float, 2>(), y.packed_accessor64<float, 2>());
    return y;
}
"""
ext = load_inline(name="relu_2d", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=source, functions=["relu"])


class ModelNew(nn.Module):
    @torch.no_grad()
    def forward(self, x):
        return ext.relu(x)
