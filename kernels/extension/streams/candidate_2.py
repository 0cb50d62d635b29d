# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# One kernel, the threshold read once into a number on the host.
source = """
#include <torch/extension.h>
#include <c10/cuda/CUDAGuard.h>
__global__ void softplus_halved(const float* x, float* y, int n, float threshold) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], s = fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)));
    y[i] = s > threshold ? s * 0.5f : s;
}
torch::Tensor run(torch::Tensor x, torch::Tensor threshold) {
    at::cuda::CUDAGuard device_guard(x.device());
    auto y = torch::empty_like(x);
    int n = x.numel();
    if (n == 0) return y;
    softplus_halved<<<at::ceil_div(n, 192), 192, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, threshold.item<float>());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""
ext = load_inline(name="softplus_halved", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor threshold);",
                  cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, threshold):
        super().__init__()
        self.register_buffer("threshold", torch.tensor(float(threshold)))

    def forward(self, x):
        return ext.run(x.contiguous(), self.threshold)
