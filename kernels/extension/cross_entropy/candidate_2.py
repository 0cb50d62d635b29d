# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# One block for everything: each group of 32 lanes takes rows, partial sums meet in shared memory.
source = r"""
#include <torch/extension.h>
template <typename index_t>
__global__ void cross_entropy_block(const float* __restrict__ logits, const index_t* __restrict__ labels, float* out, int rows, int classes) {
    __shared__ double sums[8];
    const int lane = threadIdx.x, group = threadIdx.y;
    double mine = 0;
    for (int first = 0; first < rows; first += 8) {
        // All groups take as many turns: a warp may hold several of them.
        const int r = min(first + group, rows - 1);
        const float* p = logits + (size_t)r * classes;
        float m = -INFINITY, s = 0;
        for (int c = lane; c < classes; c += 32) m = fmaxf(m, p[c]);
        for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o, 32));
        for (int c = lane; c < classes; c += 32) s += expf(p[c] - m);
        for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o, 32);
        if (first + group < rows) mine += (double)(m - p[labels[r]]) + log((double)s);
    }
    if (lane == 0) sums[group] = mine;
    __syncthreads();
    if (lane == 0 && group == 0) {
        double total = 0;
        for (int g = 0; g < 8; ++g) total += sums[g];
        *out = (float)(total / rows);
    }
}
at::Tensor loss(const at::Tensor& logits, const at::Tensor& labels) {
    auto out = at::empty({1}, logits.options());
    AT_DISPATCH_INTEGRAL_TYPES(labels.scalar_type(), "loss", [&] {
        cross_entropy_block<scalar_t><<<1, dim3(32, 8)>>>(logits.data_ptr<float>(), labels.data_ptr<scalar_t>(),
                                                          out.data_ptr<float>(), logits.size(0), logits.size(1));
    });
    return out.squeeze();
}
"""
ext = load_inline(name="cross_entropy_block", cpp_sources="at::Tensor loss(const at::Tensor& logits, const at::Tensor& labels);",
                  cuda_sources=source, functions={"loss": "mean cross entropy"})


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, logits, labels):
        return ext.loss(logits.contiguous(), labels.contiguous())
