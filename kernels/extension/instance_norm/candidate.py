# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void instance_norm_kernel(const float* x, float* y, int plane, float eps) {
    __shared__ float sums[256];
    const float* p = x + (size_t)blockIdx.x * plane;
    const int t = threadIdx.x;
    float s = 0;
    for (int i = t; i < plane; i += 256) s += p[i];
    sums[t] = s;
    __syncthreads();
    for (int n = 128; n > 0; n /= 2) { if (t < n) sums[t] += sums[t + n]; __syncthreads(); }
    const float mean = sums[0] / plane;
    __syncthreads();
    s = 0;
    for (int i = t; i < plane; i += 256) s += (p[i] - mean) * (p[i] - mean);
    sums[t] = s;
    __syncthreads();
    for (int n = 128; n > 0; n /= 2) { if (t < n) sums[t] += sums[t + n]; __syncthreads(); }
    const float scale = rsqrtf(sums[0] / plane + eps);
    for (int i = t; i < plane; i += 256) y[(size_t)blockIdx.x * plane + i] = (p[i] - mean) * scale;
}
torch::Tensor instance_norm(torch::Tensor x, double eps) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    instance_norm_kernel<<<x.size(0) * x.size(1), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(2) * x.size(3), eps);
    return y;
}
"""
ext = load_inline(name="instance_norm", cpp_sources="torch::Tensor instance_norm(torch::Tensor x, double eps);",
                  cuda_sources=source, functions=["instance_norm"])


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.InstanceNorm2d(num_features=channels)

    def forward(self, x):
        return ext.instance_norm(x, self.norm.eps)
