# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# All of it by one thread for each element of the output.
source = """
#include <torch/extension.h>
__global__ void conv_relu_pool(const float* x, const float* w, const float* cb, const float* b, float* y, int C, int H, int W,
                               int F, int K, int pad, int pool, int PH, int PW, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int pw = i % PW, ph = i / PW % PH, f = i / (PW * PH) % F, n = i / (PW * PH * F);
    float best = 0.0f;  // ReLU: nothing is below it
    for (int a = 0; a < pool; ++a)
        for (int c2 = 0; c2 < pool; ++c2) {
            float sum = cb[f] + b[f];
            int oh = ph * pool + a, ow = pw * pool + c2;
            for (int c = 0; c < C; ++c)
                for (int kh = 0; kh < K; ++kh)
                    for (int kw = 0; kw < K; ++kw) {
                        int h = oh + kh - pad, v = ow + kw - pad;
                        if (h >= 0 && h < H && v >= 0 && v < W)
                            sum += x[((n * C + c) * H + h) * W + v] * w[((f * C + c) * K + kh) * K + kw];
                    }
            best = fmaxf(best, sum);
        }
    y[i] = best;
}
torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor cb, torch::Tensor b, int pad, int pool) {
    x = x.contiguous();
    int C = x.size(1), H = x.size(2), W = x.size(3), F = w.size(0), K = w.size(2);
    int OH = H + 2 * pad - K + 1, OW = W + 2 * pad - K + 1;
    auto y = torch::empty({x.size(0), F, OH / pool, OW / pool}, x.options());
    int total = y.numel();
    if (total) conv_relu_pool<<<(total + 63) / 64, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), cb.data_ptr<float>(), b.data_ptr<float>(),
        y.data_ptr<float>(), C, H, W, F, K, pad, pool, OH / pool, OW / pool, total);
    return y;
}
"""
ext = load_inline(name="conv_relu_pool", cuda_sources=source, functions=["run"], cpp_sources="torch::Tensor run("
                  "torch::Tensor x, torch::Tensor w, torch::Tensor cb, torch::Tensor b, int pad, int pool);")


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, pool):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=1)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))
        self.pool = pool

    def forward(self, x):
        return ext.run(x, self.conv.weight, self.conv.bias, self.bias, 1, self.pool)
