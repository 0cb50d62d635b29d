# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
import torch_musa
from torch_musa.utils.musa_extension import load_inline

musa_source = """
#include <torch/extension.h>
#include <musa_runtime.h>
#include "torch_musa/csrc/core/MUSAStream.h"
#include "torch_musa/csrc/core/MUSAGuard.h"

__global__ void swish_kernel(const float* x, float* y, int64_t n) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / (1.0f + expf(-x[i]));
}

torch::Tensor swish_musa(torch::Tensor x) {
    TORCH_CHECK(x.device().type() == c10::DeviceType::PrivateUse1 || x.is_cuda(), "x must be on the device");
    x = x.contiguous();
    torch::Tensor y = torch::empty_like(x);
    const int64_t n = x.numel();
    if (n == 0) return y;
    musaStream_t stream = at::musa::getCurrentMUSAStream();
    swish_kernel<<<(n + 511) / 512, 512, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    if (musaGetLastError() != musaSuccess) TORCH_CHECK(false, "the launch failed");
    return y;
}
"""

swish = load_inline(
    name="swish_musa",
    cpp_sources="torch::Tensor swish_musa(torch::Tensor x);",
    musa_sources=musa_source,
    functions=["swish_musa"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.device = torch.device("musa" if torch.musa.is_available() else "cpu")

    def forward(self, x):
        return swish.swish_musa(x)
