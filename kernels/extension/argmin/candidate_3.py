# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# The least key of 64 bits: the value in an order of integers above, the place below; atomicMin in shared memory.
source = """
#include <torch/extension.h>
__device__ unsigned ordered(float v) {
    const unsigned bits = __float_as_uint(v == 0.0f ? 0.0f : v);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__global__ void argmin_atomic(const float* x, long long* y, int length, int inner) {
    __shared__ unsigned long long least;
    const int o = blockIdx.x / inner, i = blockIdx.x % inner;
    if (threadIdx.x == 0) least = ~0ull;
    __syncthreads();
    for (int k = threadIdx.x; k < length; k += blockDim.x) {
        const float v = x[((size_t)o * length + k) * inner + i];
        const unsigned key = isnan(v) ? 0u : ordered(v);
        atomicMin(&least, (unsigned long long)key << 32 | (unsigned)k);
    }
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = (long long)(least & 0xffffffffull);
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0), x.size(2)}, x.options().dtype(at::kLong));
    if (y.numel()) argmin_atomic<<<y.numel(), 32>>>(x.data_ptr<float>(), reinterpret_cast<long long*>(y.data_ptr<int64_t>()), x.size(1), x.size(2));
    return y;
}
"""
ext = load_inline(name="argmin_atomic", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        shape = x.shape[:self.dim] + x.shape[self.dim + 1:]
        return ext.run(x.contiguous().flatten(0, self.dim - 1).flatten(2)).reshape(shape)
