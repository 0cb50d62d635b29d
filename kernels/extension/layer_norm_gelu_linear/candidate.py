# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__device__ float gelu(float v) { return 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))); }
// A block for each row: normalised and activated values stay in shared memory.
__global__ void fused(const float* x, const float* g, const float* b, const float* w, const float* wb, float* y, int I, int O, float eps) {
    extern __shared__ float row[];
    __shared__ float mean, scale;
    for (int i = threadIdx.x; i < I; i += blockDim.x) row[i] = x[blockIdx.x * I + i];
    __syncthreads();
    if (threadIdx.x == 0) {
        float s = 0, q = 0;
        for (int i = 0; i < I; ++i) s += row[i];
        mean = s / I;
        for (int i = 0; i < I; ++i) q += (row[i] - mean) * (row[i] - mean);
        scale = rsqrtf(q / I + eps);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < I; i += blockDim.x) row[i] = gelu((row[i] - mean) * scale * g[i] + b[i]);
    __syncthreads();
    for (int o = threadIdx.x; o < O; o += blockDim.x) {
        float s = wb[o];
        for (int i = 0; i < I; ++i) s += row[i] * w[o * I + i];
        y[blockIdx.x * O + o] = s;
    }
}
torch::Tensor run(torch::Tensor x, torch::Tensor g, torch::Tensor b, torch::Tensor w, torch::Tensor wb, double eps) {
    x = x.contiguous();
    auto y = torch::empty({x.size(0), w.size(0)}, x.options());
    if (y.numel()) fused<<<x.size(0), 64, x.size(1) * sizeof(float)>>>(x.data_ptr<float>(), g.data_ptr<float>(), b.data_ptr<float>(),
        w.data_ptr<float>(), wb.data_ptr<float>(), y.data_ptr<float>(), x.size(1), w.size(0), eps);
    return y;
}
"""
ext = load_inline(name="ln_gelu_linear", cuda_sources=source, functions=["run"], cpp_sources="torch::Tensor run("
                  "torch::Tensor x, torch::Tensor g, torch::Tensor b, torch::Tensor w, torch::Tensor wb, double eps);")


class ModelNew(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.linear = nn.Linear(features, outputs)

    def forward(self, x):
        return ext.run(x, self.norm.weight, self.norm.bias, self.linear.weight, self.linear.bias, self.norm.eps)
