# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

constexpr int kThreads = 128;

__device__ float block_sum(float v) {
    __shared__ float scratch[kThreads];
    scratch[threadIdx.x] = v;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
        __syncthreads();
    }
    return scratch[0];
}

__global__ void partial_kernel(const float* p, const float* t, float* partial, int n) {
    float sum = 0.f;
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) {
        const float d = p[i] - t[i];
        sum += d * d;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void final_kernel(const float* partial, float* out, int count, float scale) {
    float sum = 0.f;
    for (int i = threadIdx.x; i < count; i += kThreads) sum += partial[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *out = sum * scale;
}

at::Tensor mse(at::Tensor predictions, at::Tensor targets) {
    TORCH_CHECK(predictions.sizes() == targets.sizes(), "sizes differ");
    auto p = predictions.contiguous(), t = targets.contiguous();
    const int n = p.numel();
    const int blocks = std::max(1, std::min(64, (n + kThreads - 1) / kThreads));
    auto partial = at::empty({blocks}, p.options());
    auto out = at::empty({}, p.options());
    partial_kernel<<<blocks, kThreads>>>(p.data_ptr<float>(), t.data_ptr<float>(), partial.data_ptr<float>(), n);
    final_kernel<<<1, kThreads>>>(partial.data_ptr<float>(), out.data_ptr<float>(), blocks, 1.0f / n);
    return out;
}
"""

ext = load_inline("mse_two_stage", "at::Tensor mse(at::Tensor predictions, at::Tensor targets);", source, functions="mse")


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        return ext.mse(predictions, targets)
