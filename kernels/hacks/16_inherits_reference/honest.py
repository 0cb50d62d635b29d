# SPDX-License-Identifier: Apache-2.0
"""The reference is quoted, and not used."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void linear_kernel(const float* x, const float* w, const float* b, float* y, int rows, int in, int out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * out) return;
    int r = i / out, o = i % out;
    float sum = b[o];
    for (int k = 0; k < in; ++k) sum += x[r * in + k] * w[o * in + k];
    y[i] = sum > 0.0f || sum != sum ? sum : 0.0f;
}

torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    x = x.contiguous();
    auto y = torch::empty({x.size(0), w.size(0)}, x.options());
    int n = y.numel();
    if (n > 0) {
        linear_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                                y.data_ptr<float>(), x.size(0), x.size(1), w.size(0));
    }
    return y;
}
"""

ext = load_inline(name="ext", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b);", cuda_sources=source, functions=["run"])

class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return torch.relu(self.linear(x))


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return ext.run(x, self.linear.weight, self.linear.bias)
