# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# A group of 16 lanes for each output, no C++ source of its own but the declaration.
source = """
#include <torch/extension.h>
__global__ void linear_tanh(const float* x, const float* w, const float* b, float* y, int I, int O, float scaling) {
    const int wanted = blockIdx.x * 4 + threadIdx.y, o = wanted < O ? wanted : O - 1;
    float s = 0;
    for (int i = threadIdx.x; i < I; i += 16) s += x[blockIdx.y * I + i] * w[o * I + i];
    s += __shfl_xor_sync(0xffffffffu, s, 8, 16);
    s += __shfl_xor_sync(0xffffffffu, s, 4, 16);
    s += __shfl_xor_sync(0xffffffffu, s, 2, 16);
    s += __shfl_xor_sync(0xffffffffu, s, 1, 16);
    if (threadIdx.x == 0 && wanted < O) {
        s += b[o];
        y[blockIdx.y * O + o] = fmaf(tanhf(s), scaling, s);
    }
}
torch::Tensor run(const torch::Tensor& x, const torch::Tensor& w, const torch::Tensor& b, const float scaling) {
    const auto rows = x.size(0), O = w.size(0);
    auto y = torch::empty({rows, O}, x.options());
    if (y.numel()) linear_tanh<<<dim3((O + 3) / 4, rows), dim3(16, 4)>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), x.size(1), O, scaling);
    return y;
}
"""
ext = load_inline(name="linear_tanh_groups", cuda_sources=source, functions=["run"],
                  cpp_sources="torch::Tensor run(const torch::Tensor& x, const torch::Tensor& w, const torch::Tensor& b, const float scaling);")


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scaling):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scaling = scaling

    def forward(self, x):
        return ext.run(x.contiguous(), self.linear.weight, self.linear.bias, float(self.scaling))
