# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Two elements for each thread, half a block apart; a functor, a launch through a variadic template.
source = """
#include <torch/extension.h>
#include <utility>
struct Swish { __device__ float operator()(float v) const { return v * (1.0f / (1.0f + exp(-v))); } };
template <typename F> __global__ void apply_kernel(const float* x, float* y, int n, F f) {
    const int base = blockIdx.x * blockDim.x * 2 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const int i = base + k * blockDim.x;
        if (i < n) y[i] = f(x[i]);
    }
}
template <typename F, typename... A> void launch(int n, F kernel, A&&... arguments) {
    const int threads = 128;
    if (n > 0) kernel<<<(n + 2 * threads - 1) / (2 * threads), threads>>>(std::forward<A>(arguments)...);
}
torch::Tensor swish(const torch::Tensor& x) {
    torch::Tensor y = torch::zeros(x.sizes(), x.options());
    launch(x.numel(), apply_kernel<Swish>, x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel(), Swish());
    return y;
}
"""
_build = dict(name="swish_pairs", cpp_sources="torch::Tensor swish(const torch::Tensor& x);", cuda_sources=source,
              functions=["swish"], extra_cuda_cflags=["-O2", "-Xptxas=-v"], verbose=False)
swish_ext = load_inline(**_build)


class ModelNew(nn.Module):
    def forward(self, x):
        return swish_ext.swish(x.contiguous())
