# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# One output of three rows, taken apart by views; a cooperative group of 32 for each row.
source = """
#include <torch/extension.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void statistics(const float* x, float* out, int rows, int dim) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    const int row = blockIdx.x;
    float s = 0, m = -INFINITY, q = 0;
    for (int i = tile.thread_rank(); i < dim; i += tile.size()) {
        const float v = x[(size_t)row * dim + i];
        s += v;
        m = fmaxf(m, v);
        q += v * v;
    }
    for (int o = tile.size() / 2; o > 0; o /= 2) {
        s += tile.shfl_down(s, o);
        m = fmaxf(m, tile.shfl_down(m, o));
        q += tile.shfl_down(q, o);
    }
    if (tile.thread_rank() == 0) { out[row] = s / dim; out[rows + row] = m; out[2 * rows + row] = sqrtf(q); }
}
torch::Tensor run(torch::Tensor x) {
    auto out = torch::empty({3, x.size(0)}, x.options());
    if (x.numel()) statistics<<<x.size(0), 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(0), x.size(1));
    return out;
}
"""
ext = load_inline(name="statistics", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return list(ext.run(x.contiguous()).unbind(0))
