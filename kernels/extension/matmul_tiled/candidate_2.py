# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void matmul_naive(const float* a, const float* b, float* c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum = fmaf(a[row * k + i], b[i * n + col], sum);
    c[row * n + col] = sum;
}
at::Tensor matmul(const at::Tensor& a, const at::Tensor& b) {
    TORCH_CHECK_EQ(a.size(1), b.size(0));
    at::Tensor left = a.contiguous(), right = b.contiguous();
    at::Tensor c = at::zeros({a.size(0), b.size(1)}, a.options());
    if (c.numel() == 0) return c;
    dim3 threads(32, 4), blocks(at::ceil_div(b.size(1), (int64_t)32), at::ceil_div(a.size(0), (int64_t)4));
    matmul_naive<<<blocks, threads>>>(left.data_ptr<float>(), right.data_ptr<float>(), c.data_ptr<float>(),
                                      a.size(0), b.size(1), a.size(1));
    return c;
}
"""
ext = load_inline(name="matmul_naive", cpp_sources="at::Tensor matmul(const at::Tensor& a, const at::Tensor& b);",
                  cuda_sources=source, functions=["matmul"])


class ModelNew(nn.Module):
    def forward(self, A, B):
        return ext.matmul(A, B)
