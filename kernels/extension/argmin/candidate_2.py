# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# A block for each output, the pairs reduced in shared memory; the lower index wins a tie.
source = """
#include <torch/extension.h>
struct Best { float value; int at; };
__device__ Best smaller(Best a, Best b) {
    if (b.at < 0) return a;
    if (a.at < 0) return b;
    if (isnan(a.value) || isnan(b.value)) {
        if (isnan(a.value) && isnan(b.value)) return a.at < b.at ? a : b;
        return isnan(a.value) ? a : b;
    }
    if (a.value != b.value) return a.value < b.value ? a : b;
    return a.at < b.at ? a : b;
}
__global__ void argmin_block(const float* x, long* y, int length, int row_stride) {
    __shared__ Best all[64];
    Best mine = {0.0f, -1};
    for (int i = threadIdx.x; i < length; i += 64) mine = smaller(mine, Best{x[(size_t)blockIdx.x * row_stride + i], i});
    all[threadIdx.x] = mine;
    __syncthreads();
    for (int n = 32; n > 0; n /= 2) {
        if (threadIdx.x < n) all[threadIdx.x] = smaller(all[threadIdx.x], all[threadIdx.x + n]);
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = all[0].at;
}
torch::Tensor argmin_last(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, torch::TensorOptions().dtype(torch::kLong).device(x.device()));
    if (y.numel() > 0) argmin_block<<<y.numel(), 64>>>(x.data_ptr<float>(), y.data_ptr<long>(), x.size(1), x.stride(0));
    return y;
}
"""
ext = load_inline(name="argmin_block", cpp_sources="torch::Tensor argmin_last(torch::Tensor x);", cuda_sources=source,
                  functions=["argmin_last"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        rows = x.transpose(self.dim, -1).contiguous()
        y = ext.argmin_last(rows.view(-1, rows.size(-1)))
        return y.view(rows.shape[:-1])
