# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Three functions, each with a kernel of its own from one template.
source = """
#include <torch/extension.h>
#include <limits>
struct Sum { static __device__ float first() { return 0; } static __device__ float join(float a, float b) { return a + b; }
             static __device__ float map(float v) { return v; } static __device__ float last(float v, int n) { return v / n; } };
struct Max { static __device__ float first() { return -INFINITY; } static __device__ float join(float a, float b) { return fmaxf(a, b); }
             static __device__ float map(float v) { return v; } static __device__ float last(float v, int) { return v; } };
struct Norm : Sum { static __device__ float map(float v) { return v * v; } static __device__ float last(float v, int) { return sqrtf(v); } };
template <class Op> __global__ void reduce(const float* x, float* y, int dim) {
    __shared__ float s[32];
    float v = Op::first();
    for (int i = threadIdx.x; i < dim; i += 32) v = Op::join(v, Op::map(x[blockIdx.x * dim + i]));
    s[threadIdx.x] = v;
    __syncthreads();
    for (int n = 16; n > 0; n /= 2) {
        if (threadIdx.x < n) s[threadIdx.x] = Op::join(s[threadIdx.x], s[threadIdx.x + n]);
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = Op::last(s[0], dim);
}
template <class Op> torch::Tensor rows(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    if (x.numel()) reduce<Op><<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("mean", &rows<Sum>);
    m.def("largest", &rows<Max>);
    m.def("length", &rows<Norm>);
}
"""
ext = load_inline(name="row_reductions", cpp_sources="", cuda_sources=source)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        return [ext.mean(x), ext.largest(x), ext.length(x)]
