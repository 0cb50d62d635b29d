# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# A tile of the plane with its border in shared memory.
source = """
#include <torch/extension.h>
__global__ void pool_tile(const float* x, float* y, int H, int W, int OH, int OW, int K, int S, int P, int D, int side) {
    extern __shared__ float tile[];
    const int tiles = (OW + 7) / 8, oh0 = blockIdx.x / tiles * 8, ow0 = blockIdx.x % tiles * 8;
    const int h0 = oh0 * S - P, w0 = ow0 * S - P;
    const float* plane = x + (size_t)blockIdx.y * H * W;
    for (int i = threadIdx.y * 8 + threadIdx.x; i < side * side; i += 64) {
        const int h = h0 + i / side, w = w0 + i % side;
        tile[i] = h >= 0 && h < H && w >= 0 && w < W ? plane[h * W + w] : -INFINITY;
    }
    __syncthreads();
    const int oh = oh0 + threadIdx.y, ow = ow0 + threadIdx.x;
    if (oh >= OH || ow >= OW) return;
    float m = -INFINITY;
    for (int i = 0; i < K; ++i)
        for (int j = 0; j < K; ++j) {
            const float v = tile[(threadIdx.y * S + i * D) * side + threadIdx.x * S + j * D];
            m = v > m || v != v ? v : m;
        }
    y[(size_t)blockIdx.y * OH * OW + oh * OW + ow] = m;
}
torch::Tensor max_pool(torch::Tensor x, int K, int S, int P, int D) {
    const int H = x.size(2), W = x.size(3);
    const int OH = (H + 2 * P - D * (K - 1) - 1) / S + 1, OW = (W + 2 * P - D * (K - 1) - 1) / S + 1;
    auto y = torch::empty({x.size(0), x.size(1), OH, OW}, x.options());
    if (y.numel() == 0) return y;
    const int side = 7 * S + D * (K - 1) + 1;
    pool_tile<<<dim3((OH + 7) / 8 * ((OW + 7) / 8), x.size(0) * x.size(1)), dim3(8, 8), side * side * sizeof(float)>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), H, W, OH, OW, K, S, P, D, side);
    return y;
}
"""
ext = load_inline(name="pool_tile", cpp_sources="torch::Tensor max_pool(torch::Tensor x, int K, int S, int P, int D);",
                  cuda_sources=source, functions=["max_pool"])


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride, padding, dilation):
        super().__init__()
        self.maxpool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding, dilation=dilation)

    def forward(self, x):
        p = self.maxpool
        return ext.max_pool(x.contiguous(), p.kernel_size, p.stride, p.padding, p.dilation)
