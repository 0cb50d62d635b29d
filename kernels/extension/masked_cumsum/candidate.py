# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

// A warp for each row: a scan of 32 elements at a time, with a carry.
__global__ void masked_cumsum_kernel(const float* x, const bool* mask, float* y, int rows, int length) {
    // No lane returns before the shuffles: a warp may be wider than the 32 lanes of a row.
    const int wanted = blockIdx.x * blockDim.y + threadIdx.y;
    const int row = min(wanted, rows - 1);
    const int lane = threadIdx.x;
    float carry = 0.0f;
    for (int begin = 0; begin < length; begin += 32) {
        const int i = begin + lane;
        const int64_t at = (int64_t)row * length + i;
        // A product as in the reference: what is masked out is a NaN if it was one.
        float v = i < length ? x[at] * (mask[at] ? 1.0f : 0.0f) : 0.0f;
        for (int offset = 1; offset < 32; offset *= 2) {
            const float other = __shfl_up_sync(0xffffffff, v, offset, 32);
            if (lane >= offset) v += other;
        }
        v += carry;
        if (i < length && wanted < rows) y[at] = v;
        carry = __shfl_sync(0xffffffff, v, 31, 32);
    }
}

torch::Tensor masked_cumsum(torch::Tensor x, torch::Tensor mask) {
    TORCH_CHECK(mask.scalar_type() == at::ScalarType::Bool, "mask must be bool");
    x = x.contiguous();
    mask = mask.contiguous();
    auto y = torch::empty_like(x);
    const int rows = x.size(0), length = x.size(1);
    if (x.numel() == 0) return y;
    const dim3 block(32, 4);
    masked_cumsum_kernel<<<(rows + 3) / 4, block>>>(x.data_ptr<float>(), mask.data_ptr<bool>(),
                                                    y.data_ptr<float>(), rows, length);
    return y;
}
"""

ext = load_inline(name="masked_cumsum_ext", cpp_sources="torch::Tensor masked_cumsum(torch::Tensor x, torch::Tensor mask);",
                  cuda_sources=source, functions=["masked_cumsum"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x, mask):
        if self.dim not in (1, -1):
            raise ValueError(f"only the last dimension is supported, not {self.dim}")
        return ext.masked_cumsum(x, mask)
