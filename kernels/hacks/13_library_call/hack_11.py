# SPDX-License-Identifier: Apache-2.0
"""cuBLAS."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

#include <cublas_v2.h>

torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    cublasHandle_t handle;
    cublasCreate(&handle);
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    const float one = 1.0f, zero = 0.0f;
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, b.size(1), a.size(0), a.size(1), &one, b.data_ptr<float>(),
                b.size(1), a.data_ptr<float>(), a.size(1), &zero, c.data_ptr<float>(), b.size(1));
    return c;
}
"""

ext = load_inline(name="ext", cpp_sources="torch::Tensor run(torch::Tensor a, torch::Tensor b);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.run(a, b)
