# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# A scan of tiles from the end: two buffers in shared memory, a carry between tiles.
source = """
#include <torch/extension.h>
#define TILE 64
__global__ void reverse_scan(const float* x, float* y, int length) {
    __shared__ float buffer[2][TILE];
    const float* in = x + (size_t)blockIdx.x * length;
    float* out = y + (size_t)blockIdx.x * length;
    float carry = 0.0f;
    for (int end = length; end > 0; end -= TILE) {
        const int at = end - 1 - (int)threadIdx.x;
        int from = 0;
        buffer[0][threadIdx.x] = at >= 0 ? in[at] : 0.0f;
        __syncthreads();
        for (int o = 1; o < TILE; o *= 2) {
            float v = buffer[from][threadIdx.x];
            if (threadIdx.x >= o) v += buffer[from][threadIdx.x - o];
            buffer[1 - from][threadIdx.x] = v;
            from = 1 - from;
            __syncthreads();
        }
        if (at >= 0) out[at] = carry + buffer[from][threadIdx.x];
        carry += buffer[from][TILE - 1];
        __syncthreads();
    }
}
void reverse_scan_out(const torch::Tensor& x, torch::Tensor& y) {
    if (x.numel()) reverse_scan<<<x.size(0), TILE>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
}
"""
ext = load_inline(name="reverse_scan", cpp_sources="void reverse_scan_out(const torch::Tensor& x, torch::Tensor& y);",
                  cuda_sources=source, functions=["reverse_scan_out"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        moved = x.transpose(self.dim, -1).contiguous()
        y = torch.empty_like(moved)
        ext.reverse_scan_out(moved, y)
        return y.transpose(self.dim, -1)
