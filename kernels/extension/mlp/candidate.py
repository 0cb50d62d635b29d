# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void linear_relu(const float* x, const float* w, const float* b, float* y, int M, int N, int K, bool relu) {
    int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y;
    if (n >= N) return;
    float s = b[n];
    for (int k = 0; k < K; ++k) s += x[m * K + k] * w[n * K + k];
    y[m * N + n] = relu ? fmaxf(s, 0.0f) : s;
}
torch::Tensor linear(torch::Tensor x, torch::Tensor w, torch::Tensor b, bool relu) {
    auto y = torch::empty({x.size(0), w.size(0)}, x.options());
    if (y.numel() > 0) linear_relu<<<dim3((w.size(0) + 31) / 32, x.size(0)), 32>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
        y.data_ptr<float>(), x.size(0), w.size(0), x.size(1), relu);
    return y;
}
"""
ext = load_inline(name="linear_relu", cpp_sources="torch::Tensor linear(torch::Tensor x, torch::Tensor w, torch::Tensor b, bool relu);",
                  cuda_sources=source, functions=["linear"])


class ModelNew(nn.Module):
    def __init__(self, input_size, layer_sizes, output_size):
        super().__init__()
        layers = []
        size = input_size
        for layer_size in layer_sizes:
            layers.append(nn.Linear(size, layer_size))
            layers.append(nn.ReLU())
            size = layer_size
        layers.append(nn.Linear(size, output_size))
        self.network = nn.Sequential(*layers)

    def forward(self, x):
        x = x.contiguous()
        linears = [layer for layer in self.network if isinstance(layer, nn.Linear)]
        for i, layer in enumerate(linears):
            x = ext.linear(x, layer.weight, layer.bias, i + 1 < len(linears))
        return x
