# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void square(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  if (n > 0) square<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""

module = load_inline(name="square_sign", cpp_sources="torch::Tensor forward(torch::Tensor x);",
                     cuda_sources=source, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.forward(x.contiguous())
