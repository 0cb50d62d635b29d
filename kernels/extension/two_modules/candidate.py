# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

swish_module = load_inline(
    name="fused_op",
    cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor scale);",
    cuda_sources="""
#include <torch/extension.h>
__global__ void kernel(const float* x, const float* scale, float* y, int n, int features) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i] * scale[i % features];
        y[i] = v / (1.0f + expf(-v));
    }
}
torch::Tensor run(torch::Tensor x, torch::Tensor scale) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int n = x.numel();
    if (n > 0) kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), scale.data_ptr<float>(), y.data_ptr<float>(), n, scale.numel());
    return y;
}
""",
    functions=["run"],
)

# The same names as in the first module, and the same name of the module: each has its own symbols.
rms_module = load_inline(
    name="fused_op",
    cpp_sources="torch::Tensor run(torch::Tensor x, double eps);",
    cuda_sources="""
#include <torch/extension.h>
__global__ void kernel(const float* x, float* y, int features, float eps) {
    __shared__ float partial[64];
    const float* row = x + blockIdx.x * features;
    float sum = 0;
    for (int i = threadIdx.x; i < features; i += 64) sum += row[i] * row[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < 64; ++i) sum += partial[i];
    const float scale = 1.0f / sqrtf(sum / features + eps);
    for (int i = threadIdx.x; i < features; i += 64) y[blockIdx.x * features + i] = row[i] * scale;
}
torch::Tensor run(torch::Tensor x, double eps) {
    auto y = torch::zeros_like(x);
    if (x.numel() > 0) kernel<<<x.size(0), 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1), (float)eps);
    return y;
}
""",
    functions=["run"],
)


class ModelNew(nn.Module):
    def __init__(self, features, eps):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(features))
        self.eps = eps
        self.swish = swish_module.run

    def forward(self, x):
        return rms_module.run(self.swish(x, self.scale), self.eps)
