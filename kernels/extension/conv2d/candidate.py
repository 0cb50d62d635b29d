# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

struct ConvSizes {
    int channels, height, width, filters, kernel, stride, padding, out_height, out_width;
};

__global__ void conv_relu_bias(const float* __restrict__ x, const float* __restrict__ weight,
                               const float* __restrict__ conv_bias, const float* __restrict__ bias,
                               float* __restrict__ y, ConvSizes s, int total) {
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= total) return;
    const int ow = index % s.out_width;
    const int oh = index / s.out_width % s.out_height;
    const int f = index / (s.out_width * s.out_height) % s.filters;
    const int n = index / (s.out_width * s.out_height * s.filters);
    float sum = conv_bias[f];
    for (int c = 0; c < s.channels; ++c) {
        for (int kh = 0; kh < s.kernel; ++kh) {
            const int h = oh * s.stride + kh - s.padding;
            if (h < 0 || h >= s.height) continue;
            for (int kw = 0; kw < s.kernel; ++kw) {
                const int w = ow * s.stride + kw - s.padding;
                if (w < 0 || w >= s.width) continue;
                sum += x[((n * s.channels + c) * s.height + h) * s.width + w] *
                       weight[((f * s.channels + c) * s.kernel + kh) * s.kernel + kw];
            }
        }
    }
    y[index] = fmaxf(sum, 0.0f) + bias[f];
}

torch::Tensor conv_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor conv_bias,
                           torch::Tensor bias, int stride, int padding) {
    x = x.contiguous();
    weight = weight.contiguous();
    ConvSizes s;
    s.channels = x.size(1);
    s.height = x.size(2);
    s.width = x.size(3);
    s.filters = weight.size(0);
    s.kernel = weight.size(2);
    s.stride = stride;
    s.padding = padding;
    s.out_height = (s.height + 2 * padding - s.kernel) / stride + 1;
    s.out_width = (s.width + 2 * padding - s.kernel) / stride + 1;
    auto y = torch::empty({x.size(0), s.filters, s.out_height, s.out_width}, x.options());
    const int total = y.numel();
    if (total == 0) return y;
    conv_relu_bias<<<(total + 127) / 128, 128>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                                conv_bias.data_ptr<float>(), bias.data_ptr<float>(),
                                                y.data_ptr<float>(), s, total);
    return y;
}
"""

cpp_source = """
torch::Tensor conv_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor conv_bias,
                           torch::Tensor bias, int stride, int padding);
"""

conv_ext = load_inline(name="conv_relu_bias_ext", cpp_sources=cpp_source, cuda_sources=cuda_source,
                       functions=["conv_forward"])


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, bias_shape):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.stride = stride
        self.padding = padding

    def forward(self, x):
        return conv_ext.conv_forward(x, self.conv.weight, self.conv.bias, self.bias.view(-1),
                                     self.stride, self.padding)
