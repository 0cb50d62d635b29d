# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

constexpr int kThreads = 128;

__device__ float block_sum(float v, float* scratch) {
    scratch[threadIdx.x] = v;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
        __syncthreads();
    }
    const float total = scratch[0];
    __syncthreads();
    return total;
}

// A block for each channel.
__global__ void batch_norm_kernel(const float* x, const float* weight, const float* bias,
                                  float* running_mean, float* running_var, float* y,
                                  int batch, int channels, int plane, float momentum, float eps) {
    __shared__ float scratch[kThreads];
    const int c = blockIdx.x;
    const int count = batch * plane;
    float sum = 0.f;
    for (int i = threadIdx.x; i < count; i += kThreads) {
        sum += x[(i / plane * channels + c) * plane + i % plane];
    }
    const float mean = block_sum(sum, scratch) / count;
    float squares = 0.f;
    for (int i = threadIdx.x; i < count; i += kThreads) {
        const float d = x[(i / plane * channels + c) * plane + i % plane] - mean;
        squares += d * d;
    }
    const float m2 = block_sum(squares, scratch);
    const float scale = rsqrtf(m2 / count + eps) * weight[c];
    for (int i = threadIdx.x; i < count; i += kThreads) {
        const int at = (i / plane * channels + c) * plane + i % plane;
        y[at] = (x[at] - mean) * scale + bias[c];
    }
    if (threadIdx.x == 0) {
        running_mean[c] = (1 - momentum) * running_mean[c] + momentum * mean;
        running_var[c] = (1 - momentum) * running_var[c] + momentum * m2 / (count - 1);
    }
}

torch::Tensor batch_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                         torch::Tensor running_mean, torch::Tensor running_var,
                         double momentum, double eps) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int plane = x.size(2) * x.size(3);
    TORCH_CHECK(x.size(0) * plane > 1, "Expected more than 1 value per channel when training");
    batch_norm_kernel<<<x.size(1), kThreads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
        running_mean.data_ptr<float>(), running_var.data_ptr<float>(),
        y.data_ptr<float>(), x.size(0), x.size(1), plane, momentum, eps);
    return y;
}
"""

cpp = """
torch::Tensor batch_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                         torch::Tensor running_mean, torch::Tensor running_var,
                         double momentum, double eps);
"""

bn_ext = load_inline(name="bn_ext", cpp_sources=cpp, cuda_sources=source, functions=["batch_norm"])


class ModelNew(nn.Module):
    def __init__(self, num_features):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features=num_features)

    def forward(self, x):
        bn = self.bn
        return bn_ext.batch_norm(x, bn.weight, bn.bias, bn.running_mean, bn.running_var,
                                 bn.momentum, bn.eps)
