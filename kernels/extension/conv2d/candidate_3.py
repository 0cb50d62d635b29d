# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Patches to a matrix by one kernel, a product of matrices with the rest fused into it by a second.
source = """
#include <torch/extension.h>
__global__ void im2col(const float* x, float* cols, int C, int H, int W, int K, int S, int P, int OH, int OW, int N) {
    const int rows = C * K * K, total = rows * N * OH * OW;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += blockDim.x * gridDim.x) {
        const int col = i % (N * OH * OW), row = i / (N * OH * OW);
        const int n = col / (OH * OW), oh = col / OW % OH, ow = col % OW;
        const int c = row / (K * K), h = oh * S - P + row / K % K, w = ow * S - P + row % K;
        cols[i] = h >= 0 && h < H && w >= 0 && w < W ? x[((n * C + c) * H + h) * W + w] : 0.0f;
    }
}
constexpr int T = 16;
__global__ void gemm_relu_bias(const float* w, const float* cols, const float* cb, const float* b, float* y, int F, int R,
                               int columns, int plane) {
    __shared__ float ws[T][T], cs[T][T + 1];
    const int f = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int r = 0; r < R; r += T) {
        ws[threadIdx.y][threadIdx.x] = f < F && r + threadIdx.x < R ? w[f * R + r + threadIdx.x] : 0;
        cs[threadIdx.y][threadIdx.x] = col < columns && r + threadIdx.y < R ? cols[(r + threadIdx.y) * columns + col] : 0;
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += ws[threadIdx.y][k] * cs[k][threadIdx.x];
        __syncthreads();
    }
    if (f < F && col < columns) {
        sum += cb[f];
        y[(col / plane * F + f) * plane + col % plane] = fmaxf(sum, 0) + b[f];
    }
}
torch::Tensor conv_gemm(torch::Tensor x, torch::Tensor w, torch::Tensor cb, torch::Tensor b, int64_t stride, int64_t padding) {
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), F = w.size(0), K = w.size(2);
    const int OH = (H + 2 * padding - K) / stride + 1, OW = (W + 2 * padding - K) / stride + 1;
    auto y = torch::empty({N, F, OH, OW}, x.options());
    auto cols = torch::empty({C * K * K, N * OH * OW}, x.options());
    if (y.numel() == 0) return y;
    im2col<<<32, 128>>>(x.data_ptr<float>(), cols.data_ptr<float>(), C, H, W, K, stride, padding, OH, OW, N);
    const int columns = N * OH * OW;
    gemm_relu_bias<<<dim3((columns + T - 1) / T, (F + T - 1) / T), dim3(T, T)>>>(
        w.data_ptr<float>(), cols.data_ptr<float>(), cb.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), F,
        C * K * K, columns, OH * OW);
    return y;
}
"""
ext = load_inline(name="conv_gemm", cuda_sources=source, functions=["conv_gemm"], cpp_sources="torch::Tensor conv_gemm("
                  "torch::Tensor x, torch::Tensor w, torch::Tensor cb, torch::Tensor b, int64_t stride, int64_t padding);")


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, bias_shape):
        super().__init__()
        conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.weight = nn.Parameter(conv.weight.detach().clone())
        self.conv_bias = nn.Parameter(conv.bias.detach().clone())
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.stride, self.padding = stride, padding

    def forward(self, x):
        return ext.conv_gemm(x.contiguous(), self.weight, self.conv_bias, self.bias, self.stride, self.padding)
