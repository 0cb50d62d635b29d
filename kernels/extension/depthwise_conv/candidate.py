# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void depthwise(const float* x, const float* w, float* y, int C, int H, int W, int K, int S, int P, int OH, int OW, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int ow = i % OW, oh = (i / OW) % OH, plane = i / (OW * OH);
    float sum = 0.0f;
    for (int kh = 0; kh < K; ++kh)
        for (int kw = 0; kw < K; ++kw) {
            int h = oh * S + kh - P, v = ow * S + kw - P;
            if (h >= 0 && h < H && v >= 0 && v < W) sum += x[(plane * H + h) * W + v] * w[(plane % C * K + kh) * K + kw];
        }
    y[i] = sum;
}
torch::Tensor depthwise_cuda(torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> bias, int stride, int padding) {
    TORCH_CHECK(!bias.has_value(), "no bias here");
    x = x.contiguous();
    const int H = x.size(2), W = x.size(3), K = w.size(2);
    const int OH = (H + 2 * padding - K) / stride + 1, OW = (W + 2 * padding - K) / stride + 1;
    auto y = torch::empty({x.size(0), x.size(1), OH, OW}, x.options());
    const int total = y.numel();
    if (total > 0) depthwise<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(1), H, W, K, stride, padding, OH, OW, total);
    return y;
}
"""
ext = load_inline(name="depthwise", cuda_sources=source, functions=["depthwise_cuda"], cpp_sources="torch::Tensor depthwise_cuda("
                  "torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> bias, int stride, int padding);")


class ModelNew(nn.Module):
    def __init__(self, channels, kernel_size, stride, padding):
        super().__init__()
        self.conv2d = nn.Conv2d(channels, channels, kernel_size, stride=stride, padding=padding, groups=channels, bias=False)
        self.stride, self.padding = stride, padding

    def forward(self, x):
        return ext.depthwise_cuda(x, self.conv2d.weight, self.conv2d.bias, self.stride, self.padding)
