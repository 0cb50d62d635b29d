# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# The sign is a template argument, the numbers are at::Scalar.
source = """
#include <torch/extension.h>
template <typename T, bool kNegate>
__global__ void affine(const T* x, T* y, size_t n, T alpha, T shift) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        const T v = alpha * x[i] + shift;
        y[i] = kNegate ? -v : v;
    }
}
torch::Tensor forward(const torch::Tensor& x, at::Scalar alpha, at::Scalar shift, bool negate) {
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "affine", [&] {
        auto* kernel = negate ? &affine<scalar_t, true> : &affine<scalar_t, false>;
        kernel<<<4, 64>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel(), alpha.to<scalar_t>(), shift.to<scalar_t>());
    });
    return y;
}
"""
ext = load_inline(name="affine", cpp_sources="torch::Tensor forward(const torch::Tensor& x, at::Scalar alpha, at::Scalar shift, bool negate);",
                  cuda_sources=source, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x, alpha, shift, negate):
        return ext.forward(x.contiguous(), alpha, shift, bool(negate))
