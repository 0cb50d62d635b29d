# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Both layers by one launch, what is between them in shared memory; a bias that is missing is a null pointer.
source = """
#include <torch/extension.h>
__global__ void two_layers(const float* x, const float* w1, const float* b1, const float* w2, const float* b2, float* y, int I, int H, int O, float slope) {
    extern __shared__ float hidden[];
    for (int h = threadIdx.x; h < H; h += blockDim.x) {
        float s = b1 ? b1[h] : 0.0f;
        for (int i = 0; i < I; ++i) s += x[blockIdx.x * I + i] * w1[h * I + i];
        hidden[h] = s >= 0 ? s : s * slope;
    }
    __syncthreads();
    for (int o = threadIdx.x; o < O; o += blockDim.x) {
        float s = b2 != nullptr ? b2[o] : 0.0f;
        for (int h = 0; h < H; ++h) s += hidden[h] * w2[o * H + h];
        y[blockIdx.x * O + o] = s;
    }
}
static const float* pointer(const std::optional<torch::Tensor>& t) { return t ? t->data_ptr<float>() : nullptr; }
torch::Tensor run(torch::Tensor x, torch::Tensor w1, std::optional<torch::Tensor> b1, torch::Tensor w2, std::optional<torch::Tensor> b2, double slope) {
    x = x.contiguous();
    auto y = torch::empty({x.size(0), w2.size(0)}, x.options());
    if (y.numel()) two_layers<<<x.size(0), 32, w1.size(0) * sizeof(float)>>>(x.data_ptr<float>(), w1.data_ptr<float>(), pointer(b1), w2.data_ptr<float>(),
        pointer(b2), y.data_ptr<float>(), x.size(1), w1.size(0), w2.size(0), slope);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", run); }
"""
ext = load_inline(name="two_layers", cpp_sources="", cuda_sources=source)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, slope):
        super().__init__()
        self.first = nn.Linear(in_features, out_features)
        self.second = nn.Linear(out_features, out_features, bias=False)
        self.slope = slope

    def forward(self, x):
        return ext.run(x, self.first.weight, self.first.bias, self.second.weight, self.second.bias, self.slope)
