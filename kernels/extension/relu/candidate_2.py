# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Four elements at a time where the address allows it; the last ones one at a time.
source = """
#include <torch/extension.h>
__global__ void relu4(const float* __restrict__ x, float* __restrict__ y, int quads, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        v.x = fmaxf(v.x, 0.f); v.y = fmaxf(v.y, 0.f); v.z = fmaxf(v.z, 0.f); v.w = fmaxf(v.w, 0.f);
        reinterpret_cast<float4*>(y)[i] = v;
    }
    int tail = quads * 4 + i;
    if (i < n - quads * 4) y[tail] = fmaxf(x[tail], 0.f);
}
torch::Tensor relu(torch::Tensor x) {
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto y = torch::empty_like(x);
    int n = x.numel();
    if (n == 0) return y;
    bool aligned = reinterpret_cast<uintptr_t>(x.data_ptr<float>()) % 16 == 0;
    int quads = aligned ? n / 4 : 0;
    int work = std::max(quads, n - quads * 4);
    relu4<<<(work + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), quads, n);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("relu", &relu, "relu of float4"); }
"""
ext = load_inline(name="relu_vec", cpp_sources="", cuda_sources=source, functions=None)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ext.relu(x if x.is_contiguous() else x.contiguous())
