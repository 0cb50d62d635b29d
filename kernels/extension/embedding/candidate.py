# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

template <typename index_t>
__global__ void lookup(const index_t* tokens, const float* table, float* out, int64_t dim, int64_t rows, float scale) {
    const int64_t token = static_cast<int64_t>(tokens[blockIdx.x]);
    if (token < 0 || token >= rows) {
        printf("token %lld is not in the table of %lld\n", (long long)token, (long long)rows);
        return;
    }
    for (int64_t i = threadIdx.x; i < dim; i += blockDim.x) {
        out[blockIdx.x * dim + i] = table[token * dim + i] * scale;
    }
}

torch::Tensor embed(torch::Tensor tokens, torch::Tensor table, float scale) {
    tokens = tokens.contiguous();
    std::vector<int64_t> shape(tokens.sizes().begin(), tokens.sizes().end());
    shape.push_back(table.size(1));
    torch::Tensor out = torch::empty(shape, table.options());
    if (tokens.numel() == 0) return out;
    AT_DISPATCH_INDEX_TYPES(tokens.scalar_type(), "embed", [&]() {
        lookup<index_t><<<tokens.numel(), 32>>>(tokens.data_ptr<index_t>(), table.data_ptr<float>(),
                                                out.data_ptr<float>(), table.size(1), table.size(0), scale);
    });
    return out;
}
"""

ext = load_inline(name="embed_ext", cpp_sources="torch::Tensor embed(torch::Tensor tokens, torch::Tensor table, float scale);",
                  cuda_sources=source, functions=["embed"])


class ModelNew(nn.Module):
    def __init__(self, vocabulary, dim, scale):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)
        self.scale = scale

    def forward(self, tokens):
        return ext.embed(tokens, self.table.weight, self.scale)
