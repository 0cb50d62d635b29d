# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Each output gathers the inputs that reach it.
source = """
#include <torch/extension.h>
__global__ void deconv(const float* x, const float* w, const float* b, float* y, int C, int H, int W, int F, int K, int S, int P,
                       int OH, int OW, float scale) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, f = blockIdx.y, n = blockIdx.z;
    if (i >= OH * OW) return;
    float sum = b[f];
    for (int kh = 0; kh < K; ++kh) {
        const int h = i / OW + P - kh;
        if (h < 0 || h % S || h / S >= H) continue;
        for (int kw = 0; kw < K; ++kw) {
            const int v = i % OW + P - kw;
            if (v < 0 || v % S || v / S >= W) continue;
            for (int c = 0; c < C; ++c) sum += x[((n * C + c) * H + h / S) * W + v / S] * w[((c * F + f) * K + kh) * K + kw];
        }
    }
    y[(n * F + f) * OH * OW + i] = fminf(1.0f, fmaxf(-1.0f, sum)) * scale;
}
torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b, int s, int p, int op, float scale) {
    x = x.contiguous();
    const int C = x.size(1), H = x.size(2), W = x.size(3), F = w.size(1), K = w.size(2);
    const int OH = (H - 1) * s - 2 * p + K + op, OW = (W - 1) * s - 2 * p + K + op;
    auto y = torch::empty({x.size(0), F, OH, OW}, x.options());
    if (y.numel()) deconv<<<dim3((OH * OW + 63) / 64, F, x.size(0)), 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
        y.data_ptr<float>(), C, H, W, F, K, s, p, OH, OW, scale);
    return y;
}
"""
ext = load_inline(name="deconv_gather", cuda_sources=source, functions=["run"],
                  cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b, int s, int p, int op, float scale);")


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, scale):
        super().__init__()
        self.deconv = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding,
                                         output_padding=output_padding)
        self.scale = scale

    def forward(self, x):
        d = self.deconv
        return ext.run(x, d.weight, d.bias, d.stride[0], d.padding[0], d.output_padding[0], self.scale)
