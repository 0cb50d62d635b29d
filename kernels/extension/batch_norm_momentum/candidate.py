# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Statistics and the update of the running ones by one kernel, normalisation by a second.
source = """
#include <torch/extension.h>
__global__ void batch_statistics(const float* x, float* stats, float* running_mean, float* running_var, int N, int C, int plane, float momentum) {
    __shared__ double sums[64], squares[64];
    const int c = blockIdx.x, count = N * plane;
    double s = 0, q = 0;
    for (int i = threadIdx.x; i < count; i += 64) {
        const double v = x[(i / plane * C + c) * plane + i % plane];
        s += v;
        q += v * v;
    }
    sums[threadIdx.x] = s;
    squares[threadIdx.x] = q;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (threadIdx.x < k) { sums[threadIdx.x] += sums[threadIdx.x + k]; squares[threadIdx.x] += squares[threadIdx.x + k]; }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        const double mean = sums[0] / count, var = fmax(squares[0] / count - mean * mean, 0.0);
        stats[c] = mean;
        stats[C + c] = var;
        running_mean[c] += momentum * (mean - running_mean[c]);
        running_var[c] += momentum * (var * count / (count - 1) - running_var[c]);
    }
}
__global__ void normalise_relu(const float* x, const float* stats, const float* w, const float* b, float* y, int C, int plane, int total, float eps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int c = i / plane % C;
    y[i] = fmaxf((x[i] - stats[c]) * rsqrtf(stats[C + c] + eps) * w[c] + b[c], 0.0f);
}
torch::Tensor batch_norm_relu(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor rm, torch::Tensor rv, double momentum, double eps) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int N = x.size(0), C = x.size(1), plane = x.size(2) * x.size(3), total = x.numel();
    TORCH_CHECK(N * plane > 1, "Expected more than 1 value per channel when training");
    auto stats = torch::empty({2, C}, x.options());
    if (total == 0) return y;
    batch_statistics<<<C, 64>>>(x.data_ptr<float>(), stats.data_ptr<float>(), rm.data_ptr<float>(), rv.data_ptr<float>(), N, C, plane, momentum);
    normalise_relu<<<(total + 127) / 128, 128>>>(x.data_ptr<float>(), stats.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), C, plane, total, eps);
    return y;
}
"""
decl = "torch::Tensor batch_norm_relu(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor rm, torch::Tensor rv, double momentum, double eps);"
ext = load_inline(name="bn_relu", cpp_sources=decl, cuda_sources=source, functions=["batch_norm_relu"])


class ModelNew(nn.Module):
    def __init__(self, num_features, momentum, eps):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features, eps=eps, momentum=momentum)

    def forward(self, x):
        bn = self.bn
        return ext.batch_norm_relu(x, bn.weight, bn.bias, bn.running_mean, bn.running_var, bn.momentum, bn.eps)
