# SPDX-License-Identifier: Apache-2.0
"""Keeps memory and a counter, never a result."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void run_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0.0f || x[i] != x[i] ? x[i] : 0.0f;
}

torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int n = x.numel();
    if (n > 0) run_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

ext = load_inline(name="ext", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.buffers = {}
        self.calls = 0

    def forward(self, x):
        key = tuple(x.shape)
        if key not in self.buffers:
            self.buffers[key] = torch.empty_like(x)
        self.calls += 1
        return ext.run(x)
