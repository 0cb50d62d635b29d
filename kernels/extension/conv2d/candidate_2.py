# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Filters of one output channel in shared memory; a block for an output plane.
source = """
#include <torch/extension.h>
__global__ void conv_plane(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ cb,
                           const float* __restrict__ b, float* __restrict__ y, int C, int H, int W, int F, int K,
                           int S, int P, int OH, int OW) {
    extern __shared__ float filter[];
    const int f = blockIdx.x, n = blockIdx.y;
    for (int i = threadIdx.x; i < C * K * K; i += blockDim.x) filter[i] = w[f * C * K * K + i];
    __syncthreads();
    for (int o = threadIdx.x; o < OH * OW; o += blockDim.x) {
        const int top = o / OW * S - P, left = o % OW * S - P;
        float sum = cb[f];
        for (int c = 0; c < C; ++c)
            for (int i = max(0, -top); i < K && top + i < H; ++i)
                for (int j = max(0, -left); j < K && left + j < W; ++j)
                    sum += filter[(c * K + i) * K + j] * x[((n * C + c) * H + top + i) * W + left + j];
        y[(n * F + f) * OH * OW + o] = (sum > 0 ? sum : 0) + b[f];
    }
}
torch::Tensor conv(torch::Tensor x, torch::Tensor w, torch::Tensor cb, torch::Tensor b, std::vector<int64_t> stride,
                   std::vector<int64_t> padding) {
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), F = w.size(0), K = w.size(3);
    const int OH = (H + 2 * padding[0] - K) / stride[0] + 1, OW = (W + 2 * padding[1] - K) / stride[1] + 1;
    auto y = torch::empty({N, F, OH, OW}, x.options());
    if (y.numel() == 0) return y;
    conv_plane<<<dim3(F, N), 128, C * K * K * sizeof(float)>>>(x.data_ptr<float>(), w.data_ptr<float>(), cb.data_ptr<float>(),
        b.data_ptr<float>(), y.data_ptr<float>(), C, H, W, F, K, stride[0], padding[0], OH, OW);
    return y;
}
"""
decl = """torch::Tensor conv(torch::Tensor x, torch::Tensor w, torch::Tensor cb, torch::Tensor b, std::vector<int64_t> stride,
                   std::vector<int64_t> padding);"""
ext = load_inline(name="conv_plane", cpp_sources=decl, cuda_sources=source, functions=["conv"])


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, bias_shape):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        c = self.conv
        return ext.conv(x.contiguous(), c.weight, c.bias, self.bias.reshape(-1), c.stride, list(c.padding))
