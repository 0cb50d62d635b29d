# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# The size of the filter is a template argument; filters lie in constant memory.
source = """
#include <torch/extension.h>
__constant__ float filters[4096];
template <int K>
__global__ void depthwise_constant(const float* __restrict__ x, float* __restrict__ y, int C, int H, int W, int P, int OH, int OW) {
    const int ow = blockIdx.x * blockDim.x + threadIdx.x, oh = blockIdx.y * blockDim.y + threadIdx.y, plane = blockIdx.z;
    if (ow >= OW || oh >= OH) return;
    const float* w = filters + plane % C * K * K;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < K; ++i)
#pragma unroll
        for (int j = 0; j < K; ++j) {
            const int h = oh + i - P, v = ow + j - P;
            sum += (unsigned)h < (unsigned)H && (unsigned)v < (unsigned)W ? w[i * K + j] * x[(plane * H + h) * W + v] : 0.f;
        }
    y[(plane * OH + oh) * OW + ow] = sum;
}
torch::Tensor depthwise(torch::Tensor x, torch::Tensor w, int padding) {
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), K = w.size(2);
    TORCH_CHECK(K == 3 || K == 5, "filters of 3 or 5, not ", K);
    TORCH_CHECK(w.numel() <= 4096, "too many channels");
    const int OH = H + 2 * padding - K + 1, OW = W + 2 * padding - K + 1;
    auto y = torch::empty({N, C, OH, OW}, x.options());
    if (y.numel() == 0) return y;
    cudaMemcpyToSymbol(filters, w.data_ptr<float>(), w.numel() * sizeof(float), 0, cudaMemcpyDeviceToDevice);
    const dim3 threads(16, 4), blocks((OW + 15) / 16, (OH + 3) / 4, N * C);
    if (K == 3) depthwise_constant<3><<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), C, H, W, padding, OH, OW);
    else depthwise_constant<5><<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), C, H, W, padding, OH, OW);
    return y;
}
"""
ext = load_inline(name="depthwise_constant", cpp_sources="torch::Tensor depthwise(torch::Tensor x, torch::Tensor w, int padding);",
                  cuda_sources=source, functions=["depthwise"])


class ModelNew(nn.Module):
    def __init__(self, channels, kernel_size, stride, padding):
        super().__init__()
        assert stride == 1
        self.conv2d = nn.Conv2d(channels, channels, kernel_size, stride=stride, padding=padding, groups=channels, bias=False)

    def forward(self, x):
        return ext.depthwise(x.contiguous(), self.conv2d.weight.contiguous(), self.conv2d.padding[0])
