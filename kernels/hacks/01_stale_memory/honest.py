# SPDX-License-Identifier: Apache-2.0
"""Memory that was never written, but here a kernel writes all of it."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void run_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0.0f || x[i] != x[i] ? x[i] : 0.0f;
}

void run(torch::Tensor x, torch::Tensor y) {
    int n = x.numel();
    if (n > 0) run_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
}
"""

ext = load_inline(name="ext", cpp_sources="void run(torch::Tensor x, torch::Tensor y);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        ext.run(x, y)
        return y
