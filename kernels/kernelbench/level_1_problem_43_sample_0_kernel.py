# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

struct Pool {
    int64_t in[3], out[3];
    int kernel, stride, padding, dilation;
};

__global__ void max_pool3d_kernel(const float* __restrict__ x, float* __restrict__ y, Pool p, int64_t total) {
    const int64_t index = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (index >= total) return;
    const int64_t d0 = index / (p.out[2] * p.out[1]) % p.out[0] * p.stride - p.padding;
    const int64_t h0 = index / p.out[2] % p.out[1] * p.stride - p.padding;
    const int64_t w0 = index % p.out[2] * p.stride - p.padding;
    const float* volume = x + index / (p.out[2] * p.out[1] * p.out[0]) * p.in[0] * p.in[1] * p.in[2];
    float best = -INFINITY;
    for (int i = 0; i < p.kernel; ++i) {
        const int64_t d = d0 + (int64_t)i * p.dilation;
        if (d < 0 || d >= p.in[0]) continue;
        for (int j = 0; j < p.kernel; ++j) {
            const int64_t h = h0 + (int64_t)j * p.dilation;
            if (h < 0 || h >= p.in[1]) continue;
            for (int k = 0; k < p.kernel; ++k) {
                const int64_t w = w0 + (int64_t)k * p.dilation;
                if (w < 0 || w >= p.in[2]) continue;
                const float v = volume[(d * p.in[1] + h) * p.in[2] + w];
                if (v > best || isnan(v)) best = v;
            }
        }
    }
    y[index] = best;
}

torch::Tensor max_pool3d(torch::Tensor x, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                         bool ceil_mode) {
    TORCH_CHECK(x.dim() == 5, "five dimensions expected");
    x = x.contiguous();
    Pool p;
    p.kernel = kernel;
    p.stride = stride;
    p.padding = padding;
    p.dilation = dilation;
    std::vector<int64_t> sizes = {x.size(0), x.size(1)};
    for (int i = 0; i < 3; ++i) {
        p.in[i] = x.size(2 + i);
        const int64_t span = p.in[i] + 2 * padding - dilation * (kernel - 1) - 1;
        TORCH_CHECK(span >= 0, "the window is too large");
        p.out[i] = (span + (ceil_mode ? stride - 1 : 0)) / stride + 1;
        // A window may not begin in the padding on the right.
        if (ceil_mode && (p.out[i] - 1) * stride >= p.in[i] + padding) --p.out[i];
        sizes.push_back(p.out[i]);
    }
    auto y = torch::empty(sizes, x.options());
    const int64_t total = y.numel();
    if (total == 0) return y;
    max_pool3d_kernel<<<(total + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), p, total);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cpp_source = r"""
torch::Tensor max_pool3d(torch::Tensor x, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                         bool ceil_mode);
"""

ext = load_inline(
    name="level_1_problem_43",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["max_pool3d"],
)


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.ceil_mode = ceil_mode

    def forward(self, x):
        return ext.max_pool3d(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)
