# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# A grid-stride loop over the output; a struct with a method that knows the table.
source = """
#include <torch/extension.h>
struct Table {
    const float* rows;
    int count, dim;
    __device__ const float& at(int64_t token, int d) const { return rows[token * dim + d]; }
};
__global__ void lookup(Table table, const int64_t* tokens, float* out, int total, float scale) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x)
        out[i] = table.at(tokens[i / table.dim], i % table.dim) * scale;
}
torch::Tensor embed(torch::Tensor tokens, torch::Tensor weight, double scale) {
    TORCH_CHECK(tokens.dtype() == torch::kInt64 && weight.dim() == 2);
    tokens = tokens.contiguous();
    std::vector<int64_t> shape(tokens.sizes().begin(), tokens.sizes().end());
    shape.push_back(weight.size(1));
    auto out = torch::empty(torch::IntArrayRef(shape), weight.options());
    Table table{weight.data_ptr<float>(), (int)weight.size(0), (int)weight.size(1)};
    if (out.numel() > 0) lookup<<<6, 64>>>(table, tokens.data_ptr<int64_t>(), out.data_ptr<float>(), out.numel(), scale);
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("embed", &embed, "scaled lookup", py::arg("tokens"), py::arg("weight"), py::arg("scale") = 1.0);
}
"""
ext = load_inline(name="lookup", cpp_sources="", cuda_sources=source)


class ModelNew(nn.Module):
    def __init__(self, vocabulary, dim, scale):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)
        self.scale = scale

    def forward(self, tokens):
        return ext.embed(tokens, self.table.weight, scale=self.scale)
