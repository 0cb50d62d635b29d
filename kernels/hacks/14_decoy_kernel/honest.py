# SPDX-License-Identifier: Apache-2.0
"""A small kernel beside the one that does the work."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void run_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / (1.0f + expf(-x[i]));
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

touch_source = """
#include <torch/extension.h>

__global__ void touch_kernel(const float* x, float* scratch, int n) {
    if (threadIdx.x == 0 && n > 0) scratch[0] = x[0];
}

torch::Tensor run(torch::Tensor x) {
    auto scratch = torch::empty({1}, x.options());
    touch_kernel<<<1, 32>>>(x.data_ptr<float>(), scratch.data_ptr<float>(), x.numel());
    return scratch;
}
"""

touch = load_inline(name="touch", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=touch_source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        touch.run(x.contiguous())
        return ext.run(x)
