# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# The same task with CUDA's names.
source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void swish_kernel(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __fdividef(x[i], 1.0f + __expf(-x[i]));
}
torch::Tensor swish(torch::Tensor x) {
    auto y = torch::empty_like(x, x.options(), at::MemoryFormat::Contiguous);
    const int n = x.numel();
    if (n > 0) swish_kernel<<<(n + 1023) / 1024, 1024>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "swish: ", cudaGetErrorString(error));
    return y;
}
"""
ext = load_inline(name="swish_cuda", cpp_sources="torch::Tensor swish(torch::Tensor x);", cuda_sources=source, functions=["swish"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.device = torch.device("cuda")

    def forward(self, x):
        return ext.swish(x.to(self.device).contiguous())
