# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Values and places by shuffles of a group of 32 lanes for each row; both outputs come from Python.
source = """
#include <torch/extension.h>
__global__ void min_rows(const float* x, float* values, int64_t* places, int rows, int dim) {
    const int wanted = blockIdx.x * blockDim.y + threadIdx.y, row = min(wanted, rows - 1);
    const float* p = x + (size_t)row * dim;
    float best = p[0];
    int at = 0;
    for (int i = threadIdx.x; i < dim; i += 32) if (p[i] < best) { best = p[i]; at = i; }
    for (int o = 16; o > 0; o >>= 1) {
        const float v = __shfl_down_sync(0xffffffffu, best, o, 32);
        const int j = __shfl_down_sync(0xffffffffu, at, o, 32);
        if (v < best || (v == best && j < at)) { best = v; at = j; }
    }
    if (threadIdx.x == 0 && wanted < rows) { values[row] = best; places[row] = at; }
}
void min_out(torch::Tensor x, torch::Tensor values, torch::Tensor places) {
    const int rows = x.size(0);
    if (rows) min_rows<<<(rows + 3) / 4, dim3(32, 4)>>>(x.data_ptr<float>(), values.data_ptr<float>(), places.data_ptr<int64_t>(), rows, x.size(1));
}
"""
ext = load_inline(name="min_rows", cpp_sources="void min_out(torch::Tensor x, torch::Tensor values, torch::Tensor places);",
                  cuda_sources=source, functions=["min_out"])


class ModelNew(nn.Module):
    def forward(self, x):
        values = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
        places = torch.empty(x.shape[0], device=x.device, dtype=torch.int64)
        ext.min_out(x.contiguous(), values, places)
        return values, places
