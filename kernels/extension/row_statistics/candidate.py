# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void statistics(const float* x, float* mean, float* largest, float* length, int rows, int dim) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float s = 0, m = x[r * dim], q = 0;
    for (int i = 0; i < dim; ++i) {
        float v = x[r * dim + i];
        s += v; m = fmaxf(m, v); q += v * v;
    }
    mean[r] = s / dim; largest[r] = m; length[r] = sqrtf(q);
}
std::vector<torch::Tensor> row_statistics(torch::Tensor x) {
    x = x.contiguous();
    auto mean = torch::empty({x.size(0)}, x.options()), largest = torch::empty_like(mean), length = torch::empty_like(mean);
    if (x.numel()) statistics<<<(x.size(0) + 15) / 16, 16>>>(x.data_ptr<float>(), mean.data_ptr<float>(), largest.data_ptr<float>(), length.data_ptr<float>(), x.size(0), x.size(1));
    return {mean, largest, length};
}
"""
ext = load_inline(name="row_statistics", cpp_sources="std::vector<torch::Tensor> row_statistics(torch::Tensor x);", cuda_sources=source,
                  functions=["row_statistics"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.row_statistics(x)
