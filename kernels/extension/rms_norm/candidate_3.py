# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# float2 with a tail; the sum of squares by halves of the block.
source = """
#include <torch/extension.h>
template <typename T> __device__ T square(T v) { return v * v; }
template <int THREADS>
__global__ void rms_norm2(const float* x, const float* w, float* y, int dim, float eps) {
    __shared__ float sums[THREADS];
    const size_t base = (size_t)blockIdx.x * dim;
    const bool pairs = base % 2 == 0;
    const int half = pairs ? dim / 2 : 0;
    float s = 0;
    for (int i = threadIdx.x; i < half; i += THREADS) {
        const float2 v = reinterpret_cast<const float2*>(x + base)[i];
        s += square(v.x) + square(v.y);
    }
    for (int i = 2 * half + threadIdx.x; i < dim; i += THREADS) s += square(x[base + i]);
    sums[threadIdx.x] = s;
    __syncthreads();
    for (int n = THREADS / 2; n >= 1; n /= 2) {
        s = threadIdx.x < n ? sums[threadIdx.x] + sums[threadIdx.x + n] : 0;
        __syncthreads();
        if (threadIdx.x < n) sums[threadIdx.x] = s;
        __syncthreads();
    }
    const float r = rsqrtf(sums[0] / dim + eps);
    for (int i = threadIdx.x; i < dim; i += THREADS) y[base + i] = x[base + i] * r * w[i];
}
torch::Tensor rms_norm(torch::Tensor x, torch::Tensor w, double eps) {
    auto y = torch::empty_like(x);
    const auto blocks = x.size(0);
    if (x.numel() == 0) return y;
    if (x.size(1) <= 128) rms_norm2<64><<<blocks, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(1), eps);
    else rms_norm2<256><<<blocks, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(1), eps);
    return y;
}
"""
ext = load_inline(name="rms_norm2", cpp_sources="torch::Tensor rms_norm(torch::Tensor x, torch::Tensor w, double eps);",
                  cuda_sources=source, functions=["rms_norm"])


class ModelNew(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        return ext.rms_norm(x.contiguous(), self.weight.data, self.eps)
