# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Statistics of the rows by one kernel, the quotient by a second one over all elements.
src = """
#include <torch/extension.h>
__global__ void row_statistics(const float* x, float* stats, int rows, int dim) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float m = x[(size_t)r * dim], s = 0;
    for (int i = 1; i < dim; ++i) m = max(m, x[(size_t)r * dim + i]);
    for (int i = 0; i < dim; ++i) s += expf(x[(size_t)r * dim + i] - m);
    stats[2 * r] = m;
    stats[2 * r + 1] = s;
}
__global__ void quotient(const float* x, const float* stats, float* y, int dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < dim) {
        size_t at = (size_t)blockIdx.y * dim + i;
        y[at] = expf(x[at] - stats[2 * blockIdx.y]) / stats[2 * blockIdx.y + 1];
    }
}
torch::Tensor forward(torch::Tensor x) {
    auto sizes = x.sizes();
    auto stats = x.new_empty({sizes[0], 2});
    auto y = at::empty_like(x);
    const int rows = sizes[0], dim = sizes[1];
    if (!rows || !dim) return y;
    row_statistics<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), stats.data_ptr<float>(), rows, dim);
    dim3 grid((dim + 127) / 128, rows);
    quotient<<<grid, 128>>>(x.data_ptr<float>(), stats.data_ptr<float>(), y.data_ptr<float>(), dim);
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.ext = load_inline(name="softmax_two", cpp_sources="torch::Tensor forward(torch::Tensor x);",
                               cuda_sources=src, functions=["forward"], with_cuda=True)

    def forward(self, x):
        return self.ext.forward(x.contiguous())
