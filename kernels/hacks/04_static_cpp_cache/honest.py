# SPDX-License-Identifier: Apache-2.0
"""A workspace that outlives the call."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

#include <map>

__global__ void double_kernel(const float* x, float* t, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) t[i] = x[i];
}

__global__ void relu_kernel(const float* t, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = t[i] > 0.0f || t[i] != t[i] ? t[i] : 0.0f;
}

// Workspaces by their size: memory is kept, what is in it is written on each call.
static std::map<int64_t, torch::Tensor> workspaces;

torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    if (n == 0) return y;
    torch::Tensor& t = workspaces[n];
    if (!t.defined()) t = torch::empty({n}, x.options());
    double_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), t.data_ptr<float>(), n);
    relu_kernel<<<(n + 127) / 128, 128>>>(t.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

ext = load_inline(name="ext", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x)
