# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Everything by one kernel: the row stays in shared memory.
source = """
#include <torch/extension.h>
__global__ void swish_rms(const float* x, const float* scale, float* y, int features, float eps) {
    extern __shared__ float row[];
    __shared__ float sums[32];
    float s = 0.0f;
    for (int i = threadIdx.x; i < features; i += 32) {
        float v = x[(size_t)blockIdx.x * features + i] * scale[i];
        v = v / (1.0f + expf(-v));
        row[i] = v;
        s += v * v;
    }
    sums[threadIdx.x] = s;
    __syncthreads();
    for (int n = 16; n > 0; n >>= 1) {
        if (threadIdx.x < n) sums[threadIdx.x] += sums[threadIdx.x + n];
        __syncthreads();
    }
    const float by = rsqrtf(sums[0] / features + eps);
    for (int i = threadIdx.x; i < features; i += 32) y[(size_t)blockIdx.x * features + i] = row[i] * by;
}
torch::Tensor run(torch::Tensor x, torch::Tensor scale, c10::optional<double> eps) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel()) swish_rms<<<x.size(0), 32, x.size(1) * sizeof(float)>>>(x.data_ptr<float>(), scale.data_ptr<float>(), y.data_ptr<float>(), x.size(1), eps.value_or(1e-6));
    return y;
}
"""
ext = load_inline(name="swish_rms", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor scale, c10::optional<double> eps);",
                  cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, features, eps):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(features))
        self.eps = eps

    def forward(self, x):
        return ext.run(x, self.scale, self.eps)
