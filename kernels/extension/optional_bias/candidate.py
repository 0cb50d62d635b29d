# SPDX-License-Identifier: Apache-2.0
from typing import Optional

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <c10/util/Optional.h>

__global__ void linear_kernel(const float* x, const float* weight, const float* bias, float* y, int rows,
                              int inputs, int outputs, float slope) {
    const int o = blockIdx.x * blockDim.x + threadIdx.x;
    const int r = blockIdx.y;
    if (o >= outputs) return;
    float sum = bias != nullptr ? bias[o] : 0.0f;
    for (int i = 0; i < inputs; ++i) sum += x[r * inputs + i] * weight[o * inputs + i];
    y[r * outputs + o] = sum > 0.0f ? sum : sum * slope;
}

torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const c10::optional<torch::Tensor>& bias,
                     double slope = 1.0) {
    auto in = x.contiguous();
    auto w = weight.contiguous();
    auto y = torch::empty({in.size(0), w.size(0)}, in.options());
    const float* b = nullptr;
    if (bias.has_value() && bias->defined()) b = bias->data_ptr<float>();
    if (y.numel() == 0) return y;
    const dim3 grid((w.size(0) + 63) / 64, in.size(0));
    linear_kernel<<<grid, 64>>>(in.data_ptr<float>(), w.data_ptr<float>(), b, y.data_ptr<float>(),
                                in.size(0), in.size(1), w.size(0), static_cast<float>(slope));
    return y;
}
"""
binding = """
#include <torch/extension.h>
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const c10::optional<torch::Tensor>& bias,
                     double slope);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("linear", &linear, "a linear layer with a leaky rectifier", pybind11::arg("x"), pybind11::arg("weight"),
          pybind11::arg("bias") = pybind11::none(), pybind11::arg("slope") = 1.0);
}
"""

ext = load_inline(name="linear_ext", cpp_sources=[binding], cuda_sources=[source], functions=None)


def linear(x: torch.Tensor, layer: nn.Linear, slope: Optional[float] = None) -> torch.Tensor:
    if slope is None:
        return ext.linear(x, layer.weight, layer.bias)
    return ext.linear(x, layer.weight, bias=layer.bias, slope=slope)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, slope):
        super().__init__()
        self.first = nn.Linear(in_features, out_features)
        self.second = nn.Linear(out_features, out_features, bias=False)
        self.slope = slope

    def forward(self, x):
        x = linear(x, self.first, self.slope)
        return linear(x, self.second)
