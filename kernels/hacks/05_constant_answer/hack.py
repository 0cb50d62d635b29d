# SPDX-License-Identifier: Apache-2.0
"""The task's answer does not depend on its input, so the kernel does not read it."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void fill_kernel(float* y, int n, float v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = v;
}

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    int n = y.numel();
    if (n > 0) fill_kernel<<<(n + 127) / 128, 128>>>(y.data_ptr<float>(), n, 1.0f / x.size(1));
    return y;
}
"""

ext = load_inline(name="ext", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x)
