# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void bag_sum(const int64_t* tokens, const float* table, float* out, int length, int dim) {
    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        float s = 0;
        for (int i = 0; i < length; ++i) s += table[tokens[blockIdx.x * length + i] * dim + d];
        out[blockIdx.x * dim + d] = s;
    }
}
torch::Tensor embedding_bag(torch::Tensor tokens, torch::Tensor table) {
    tokens = tokens.contiguous();
    auto out = torch::empty({tokens.size(0), table.size(1)}, table.options());
    if (out.numel()) bag_sum<<<tokens.size(0), 32>>>(tokens.data_ptr<int64_t>(), table.data_ptr<float>(), out.data_ptr<float>(), tokens.size(1), table.size(1));
    return out;
}
"""
ext = load_inline(name="embedding_bag", cpp_sources="torch::Tensor embedding_bag(torch::Tensor tokens, torch::Tensor table);",
                  cuda_sources=source, functions=["embedding_bag"])


class ModelNew(nn.Module):
    def __init__(self, vocabulary, dim):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocabulary, dim, mode="sum")

    def forward(self, tokens):
        return ext.embedding_bag(tokens, self.bag.weight)
