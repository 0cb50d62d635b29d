# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# The depth is split over blocks; their parts go to a buffer and are added in a fixed order, without atomics.
source = """
#include <torch/extension.h>
constexpr int kSplit = 3;
__global__ void partial(const float* a, const float* b, float* parts, int M, int N, int K) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y, s = blockIdx.z;
    if (n >= N) return;
    const int each = (K + kSplit - 1) / kSplit;
    float sum = 0;
    for (int k = s * each; k < min(K, (s + 1) * each); ++k) sum += a[m * K + k] * b[k * N + n];
    parts[(s * M + m) * N + n] = sum;
}
__global__ void combine(const float* parts, float* c, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { float s = 0; for (int k = 0; k < kSplit; ++k) s += parts[k * count + i]; c[i] = s; }
}
torch::Tensor matmul(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous(), b = b.contiguous();
    const int M = a.size(0), K = a.size(1), N = b.size(1);
    auto parts = torch::empty({kSplit, M, N}, a.options()), c = torch::empty({M, N}, a.options());
    if (c.numel() == 0) return c;
    partial<<<dim3((N + 31) / 32, M, kSplit), 32>>>(a.data_ptr<float>(), b.data_ptr<float>(), parts.data_ptr<float>(), M, N, K);
    combine<<<(M * N + 127) / 128, 128>>>(parts.data_ptr<float>(), c.data_ptr<float>(), M * N);
    return c;
}
"""
ext = load_inline(name="matmul_split", cpp_sources="torch::Tensor matmul(torch::Tensor a, torch::Tensor b);", cuda_sources=source,
                  functions=["matmul"])


class ModelNew(nn.Module):
    def forward(self, A, B):
        return ext.matmul(A, B)
