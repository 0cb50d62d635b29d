# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
template <int K>
__global__ void conv_relu_pool(const float* x, const float* w, const float* b, float* y, int C, int H, int W, int F, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int PH = (H - K + 1) / 2, PW = (W - K + 1) / 2;
    const int pw = i % PW, ph = i / PW % PH, f = i / (PW * PH) % F, n = i / (PW * PH * F);
    float best = 0.0f;
    for (int q = 0; q < 4; ++q) {
        const int oh = 2 * ph + q / 2, ow = 2 * pw + q % 2;
        float s = b[f];
        for (int c = 0; c < C; ++c)
            for (int k = 0; k < K * K; ++k)
                s += x[((n * C + c) * H + oh + k / K) * W + ow + k % K] * w[(f * C + c) * K * K + k];
        best = fmaxf(best, s);
    }
    y[i] = best;
}
template <bool kRelu>
__global__ void linear(const float* x, const float* w, const float* b, float* y, int I, int O) {
    for (int o = threadIdx.x; o < O; o += blockDim.x) {
        float s = b[o];
        for (int i = 0; i < I; ++i) s += x[blockIdx.x * I + i] * w[o * I + i];
        y[blockIdx.x * O + o] = kRelu && s < 0 ? 0 : s;
    }
}
template <int K> torch::Tensor stage(const torch::Tensor& x, const torch::Tensor& w, const torch::Tensor& b) {
    auto y = torch::empty({x.size(0), w.size(0), (x.size(2) - K + 1) / 2, (x.size(3) - K + 1) / 2}, x.options());
    const int total = y.numel();
    conv_relu_pool<K><<<(total + 63) / 64, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), x.size(1),
                                                 x.size(2), x.size(3), w.size(0), total);
    return y;
}
torch::Tensor lenet(torch::Tensor x, std::vector<torch::Tensor> p) {
    x = x.contiguous();
    const int N = x.size(0);
    auto out = torch::empty({N, p[6].size(0)}, x.options());
    if (out.numel() == 0) return out;
    auto flat = stage<3>(stage<5>(x, p[0], p[1]), p[2], p[3]).view({N, -1});
    auto hidden = torch::empty({N, p[4].size(0)}, x.options());
    TORCH_CHECK(flat.size(1) == p[4].size(1), "the image has the wrong size");
    linear<true><<<N, 32>>>(flat.data_ptr<float>(), p[4].data_ptr<float>(), p[5].data_ptr<float>(), hidden.data_ptr<float>(), flat.size(1), hidden.size(1));
    linear<false><<<N, 32>>>(hidden.data_ptr<float>(), p[6].data_ptr<float>(), p[7].data_ptr<float>(), out.data_ptr<float>(), hidden.size(1), out.size(1));
    return out;
}
"""
ext = load_inline(name="lenet", cpp_sources="torch::Tensor lenet(torch::Tensor x, std::vector<torch::Tensor> p);", cuda_sources=source,
                  functions=["lenet"])


class ModelNew(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size=5)
        self.conv2 = nn.Conv2d(4, 6, kernel_size=3)
        self.fc1 = nn.Linear(6 * 2 * 2, 12)
        self.fc2 = nn.Linear(12, classes)

    def forward(self, x):
        layers = (self.conv1, self.conv2, self.fc1, self.fc2)
        return ext.lenet(x, [p for layer in layers for p in (layer.weight, layer.bias)])
