# SPDX-License-Identifier: Apache-2.0
"""Computes what happens to be a constant."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void mean_softmax_kernel(const float* x, float* y, int dim) {
    x += blockIdx.x * dim;
    if (threadIdx.x != 0) return;
    float largest = x[0];
    for (int i = 1; i < dim; ++i) largest = fmaxf(largest, x[i]);
    float total = 0.0f;
    for (int i = 0; i < dim; ++i) total += expf(x[i] - largest);
    float sum = 0.0f;
    for (int i = 0; i < dim; ++i) sum += expf(x[i] - largest) / total;
    y[blockIdx.x] = sum / dim;
}

torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty({x.size(0)}, x.options());
    if (x.numel() > 0) mean_softmax_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(name="ext", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x)
