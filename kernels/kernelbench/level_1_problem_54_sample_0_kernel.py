# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

struct Conv {
    int64_t channels, filters, group_channels, group_filters;
    int64_t in[3], out[3];
    int kernel[3], stride[3], padding[3], dilation[3];
};

// A thread for each result.
__global__ void conv3d_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                              const float* __restrict__ bias, float* __restrict__ y, Conv s, int64_t total) {
    const int64_t index = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (index >= total) return;
    const int64_t ow = index % s.out[2];
    const int64_t oh = index / s.out[2] % s.out[1];
    const int64_t od = index / (s.out[2] * s.out[1]) % s.out[0];
    const int64_t f = index / (s.out[2] * s.out[1] * s.out[0]) % s.filters;
    const int64_t n = index / (s.out[2] * s.out[1] * s.out[0] * s.filters);
    const int64_t first_channel = f / s.group_filters * s.group_channels;
    float sum = bias ? bias[f] : 0.0f;
    for (int64_t c = 0; c < s.group_channels; ++c) {
        const float* volume = x + (n * s.channels + first_channel + c) * s.in[0] * s.in[1] * s.in[2];
        const float* filter =
            weight + (f * s.group_channels + c) * s.kernel[0] * s.kernel[1] * s.kernel[2];
        for (int i = 0; i < s.kernel[0]; ++i) {
            const int64_t d = od * s.stride[0] - s.padding[0] + (int64_t)i * s.dilation[0];
            if (d < 0 || d >= s.in[0]) continue;
            for (int j = 0; j < s.kernel[1]; ++j) {
                const int64_t h = oh * s.stride[1] - s.padding[1] + (int64_t)j * s.dilation[1];
                if (h < 0 || h >= s.in[1]) continue;
                for (int k = 0; k < s.kernel[2]; ++k) {
                    const int64_t w = ow * s.stride[2] - s.padding[2] + (int64_t)k * s.dilation[2];
                    if (w < 0 || w >= s.in[2]) continue;
                    sum = fmaf(volume[(d * s.in[1] + h) * s.in[2] + w],
                               filter[(i * s.kernel[1] + j) * s.kernel[2] + k], sum);
                }
            }
        }
    }
    y[index] = sum;
}

torch::Tensor conv3d(torch::Tensor x, torch::Tensor weight, c10::optional<torch::Tensor> bias,
                     std::vector<int64_t> stride, std::vector<int64_t> padding, std::vector<int64_t> dilation,
                     int64_t groups) {
    TORCH_CHECK(x.dim() == 5 && weight.dim() == 5, "five dimensions expected");
    x = x.contiguous();
    weight = weight.contiguous();
    Conv s;
    s.channels = x.size(1);
    s.filters = weight.size(0);
    s.group_channels = weight.size(1);
    s.group_filters = s.filters / groups;
    TORCH_CHECK(s.group_channels * groups == s.channels, "the channels do not fit the weight");
    std::vector<int64_t> sizes = {x.size(0), s.filters};
    for (int i = 0; i < 3; ++i) {
        s.in[i] = x.size(2 + i);
        s.kernel[i] = weight.size(2 + i);
        s.stride[i] = stride[i];
        s.padding[i] = padding[i];
        s.dilation[i] = dilation[i];
        const int64_t span = s.in[i] + 2 * padding[i] - dilation[i] * (s.kernel[i] - 1) - 1;
        TORCH_CHECK(span >= 0, "the kernel is larger than the input");
        s.out[i] = span / stride[i] + 1;
        sizes.push_back(s.out[i]);
    }
    auto y = torch::empty(sizes, x.options());
    const int64_t total = y.numel();
    if (total == 0) return y;
    conv3d_kernel<<<(total + 127) / 128, 128>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                                bias.has_value() ? bias->data_ptr<float>() : nullptr,
                                                y.data_ptr<float>(), s, total);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cpp_source = r"""
torch::Tensor conv3d(torch::Tensor x, torch::Tensor weight, c10::optional<torch::Tensor> bias,
                     std::vector<int64_t> stride, std::vector<int64_t> padding, std::vector<int64_t> dilation,
                     int64_t groups);
"""

ext = load_inline(
    name="level_1_problem_54",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["conv3d"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0,
                 dilation=1, groups=1, bias=False):
        super().__init__()
        self.conv3d = nn.Conv3d(in_channels, out_channels, (kernel_size, kernel_size, kernel_size), stride=stride,
                                padding=padding, dilation=dilation, groups=groups, bias=bias)

    def forward(self, x):
        c = self.conv3d
        return ext.conv3d(x, c.weight, c.bias, c.stride, c.padding, c.dilation, c.groups)
