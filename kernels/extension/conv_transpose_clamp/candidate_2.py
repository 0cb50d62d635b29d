# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Inputs spread out over zeros and filters flipped by a kernel each, then an ordinary convolution.
source = """
#include <torch/extension.h>
__global__ void spread(const float* x, float* z, int H, int W, int S, int ZH, int ZW, int pad) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < H * W) z[((size_t)blockIdx.y * ZH + pad + i / W * S) * ZW + pad + i % W * S] = x[(size_t)blockIdx.y * H * W + i];
}
__global__ void flip(const float* w, float* out, int C, int F, int KK) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < C * F * KK) out[(i / KK % F * C + i / (KK * F)) * KK + KK - 1 - i % KK] = w[i];
}
__global__ void convolve(const float* z, const float* w, const float* b, float* y, int C, int ZH, int ZW, int F, int K, int OH, int OW, float scale, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int ow = i % OW, oh = i / OW % OH, f = i / (OW * OH) % F, n = i / (OW * OH * F);
    float s = 0;
    for (int c = 0; c < C; ++c)
        for (int k = 0; k < K * K; ++k) s += z[((n * C + c) * ZH + oh + k / K) * ZW + ow + k % K] * w[(f * C + c) * K * K + k];
    s += b[f];
    y[i] = (s < -1 ? -1 : s > 1 ? 1 : s) * scale;
}
torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b, at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef output_padding, double scale) {
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), F = w.size(1), K = w.size(2), S = stride[0], P = padding[0];
    const int OH = (H - 1) * S - 2 * P + K + output_padding[0], OW = (W - 1) * S - 2 * P + K + output_padding[1];
    const int pad = K - 1 - P, ZH = OH + K - 1, ZW = OW + K - 1;
    auto z = torch::zeros({N, C, ZH, ZW}, x.options()), flipped = torch::empty({F, C, K, K}, w.options());
    auto y = torch::empty({N, F, OH, OW}, x.options());
    const int total = y.numel();
    if (total == 0) return y;
    spread<<<dim3((H * W + 63) / 64, N * C), 64>>>(x.data_ptr<float>(), z.data_ptr<float>(), H, W, S, ZH, ZW, pad);
    flip<<<(C * F * K * K + 63) / 64, 64>>>(w.data_ptr<float>(), flipped.data_ptr<float>(), C, F, K * K);
    convolve<<<(total + 127) / 128, 128>>>(z.data_ptr<float>(), flipped.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), C, ZH, ZW, F, K, OH, OW, scale, total);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
"""
ext = load_inline(name="deconv_spread", cpp_sources="", cuda_sources=source)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, scale):
        super().__init__()
        self.deconv = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding,
                                         output_padding=output_padding)
        self.scale = scale

    def forward(self, x):
        d = self.deconv
        return ext.run(x.contiguous(), d.weight, d.bias, d.stride, d.padding, d.output_padding, self.scale)
