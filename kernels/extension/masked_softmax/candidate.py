# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void masked_softmax(const float* x, const bool* mask, float* y, int rows, int length) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float m = -INFINITY, s = 0;
    for (int i = 0; i < length; ++i) m = fmaxf(m, mask[r * length + i] ? -1e4f : x[r * length + i]);
    for (int i = 0; i < length; ++i) {
        float e = expf((mask[r * length + i] ? -1e4f : x[r * length + i]) - m);
        y[r * length + i] = e;
        s += e;
    }
    for (int i = 0; i < length; ++i) y[r * length + i] /= s;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor mask) {
    TORCH_CHECK(mask.dtype() == torch::kBool, "mask must be bool");
    auto xc = x.contiguous(); auto mc = mask.contiguous();
    auto y = torch::empty_like(xc);
    int rows = x.size(0), length = x.size(1);
    if (y.numel() > 0) masked_softmax<<<(rows + 15) / 16, 16>>>(xc.data_ptr<float>(), mc.data_ptr<bool>(), y.data_ptr<float>(), rows, length);
    return y;
}
"""
ext = load_inline(name="masked_softmax", cpp_sources="torch::Tensor forward(torch::Tensor x, torch::Tensor mask);",
                  cuda_sources=source, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return ext.forward(x, mask)
