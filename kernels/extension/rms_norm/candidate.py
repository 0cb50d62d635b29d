# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void rms_norm_kernel(const float* x, const float* w, float* y, int dim, float eps) {
    extern __shared__ float sums[];
    const float* row = x + blockIdx.x * dim;
    float s = 0.0f;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) s += row[i] * row[i];
    sums[threadIdx.x] = s;
    __syncthreads();
    for (unsigned n = blockDim.x / 2; n > 0; n >>= 1) {
        if (threadIdx.x < n) sums[threadIdx.x] += sums[threadIdx.x + n];
        __syncthreads();
    }
    const float scale = rsqrtf(sums[0] / dim + eps);
    for (int i = threadIdx.x; i < dim; i += blockDim.x) y[blockIdx.x * dim + i] = row[i] * scale * w[i];
}
torch::Tensor rms_norm(torch::Tensor x, torch::Tensor w, float eps) {
    TORCH_CHECK(x.dim() == 2 && x.size(1) == w.numel(), "x must be rows of ", w.numel());
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() > 0)
        rms_norm_kernel<<<x.size(0), 128, 128 * sizeof(float)>>>(x.data_ptr<float>(), w.data_ptr<float>(),
                                                                 y.data_ptr<float>(), x.size(1), eps);
    return y;
}
"""
ext = load_inline(name="rms_norm", cpp_sources="torch::Tensor rms_norm(torch::Tensor x, torch::Tensor w, float eps);",
                  cuda_sources=source, functions=["rms_norm"], verbose=True)


class ModelNew(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        return ext.rms_norm(x, self.weight, self.eps)
