# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <vector>

// One warp for each output: `outer` x `inner` outputs, `length` terms each, `inner` apart.
__global__ void sum_kernel(const float* x, float* out, int length, int inner, int outputs) {
    const int lane = threadIdx.x % 32;
    // No lane returns before the shuffles: a warp may be wider than 32 lanes.
    const int wanted = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int output = wanted < outputs ? wanted : outputs - 1;
    const float* start = x + (int64_t)(output / inner) * length * inner + output % inner;
    float sum = 0.0f;
    for (int i = lane; i < length; i += 32) sum += start[(int64_t)i * inner];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset, 32);
    }
    if (lane == 0 && wanted < outputs) out[output] = sum;
}

torch::Tensor sum_dim(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.dtype() == torch::kFloat32, "float32 only");
    if (dim < 0) dim += x.dim();
    TORCH_CHECK(dim >= 0 && dim < x.dim(), "dim ", dim, " is out of range");
    x = x.contiguous();
    std::vector<int64_t> shape = x.sizes().vec();
    const int length = shape[dim];
    shape[dim] = 1;
    auto out = torch::empty(shape, x.options());
    int inner = 1;
    for (int64_t d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
    const int outputs = out.numel();
    if (outputs == 0) return out;
    const int threads = 128;
    sum_kernel<<<(outputs + 3) / 4, threads>>>(x.data_ptr<float>(), out.data_ptr<float>(), length,
                                               inner, outputs);
    return out;
}
"""

module = load_inline(name="sum_dim_ext", cpp_sources="torch::Tensor sum_dim(torch::Tensor x, int64_t dim);",
                     cuda_sources=source, functions=["sum_dim"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return module.sum_dim(x, self.dim)
