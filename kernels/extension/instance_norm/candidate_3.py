# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Sums of float4 where planes are a multiple of four; the statistics are one small tensor between two kernels.
source = """
#include <torch/extension.h>
__global__ void plane_sums(const float* x, double2* sums, int plane) {
    __shared__ double2 parts[32];
    const float* p = x + (size_t)blockIdx.x * plane;
    double s = 0, q = 0;
    if (plane % 4 == 0) {
        for (int i = threadIdx.x; i < plane / 4; i += 32) {
            const float4 v = reinterpret_cast<const float4*>(p)[i];
            s += (double)v.x + v.y + v.z + v.w;
            q += (double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z + (double)v.w * v.w;
        }
    } else {
        for (int i = threadIdx.x; i < plane; i += 32) { s += p[i]; q += (double)p[i] * p[i]; }
    }
    parts[threadIdx.x] = {s, q};
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 32; ++i) { s += parts[i].x; q += parts[i].y; }
        sums[blockIdx.x] = {s, q};
    }
}
__global__ void normalise(const float* x, const double2* sums, float* y, int plane, int total, double eps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const double mean = sums[i / plane].x / plane, var = fmax(sums[i / plane].y / plane - mean * mean, 0.0);
    y[i] = (x[i] - mean) / sqrt(var + eps);
}
torch::Tensor forward(torch::Tensor x, double eps) {
    TORCH_CHECK_NOT_IMPLEMENTED(x.dim() == 4, "only N, C, H, W");
    auto y = torch::empty_like(x);
    const int planes = x.size(0) * x.size(1), plane = x.size(2) * x.size(3);
    auto sums = torch::empty({planes, 2}, x.options().dtype(torch::kFloat64));
    if (y.numel() == 0) return y;
    auto* pairs = reinterpret_cast<double2*>(sums.data_ptr<double>());
    plane_sums<<<planes, 32>>>(x.data_ptr<float>(), pairs, plane);
    normalise<<<(planes * plane + 127) / 128, 128>>>(x.data_ptr<float>(), pairs, y.data_ptr<float>(), plane, planes * plane, eps);
    return y;
}
"""
ext = load_inline(name="plane_sums", cpp_sources="torch::Tensor forward(torch::Tensor x, double eps);", cuda_sources=source, functions=["forward"])


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.InstanceNorm2d(num_features=channels)

    def forward(self, x):
        return ext.forward(x.contiguous(), self.norm.eps)
