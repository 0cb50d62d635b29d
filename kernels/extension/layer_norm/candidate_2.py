# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Welford's method, merged over a group of lanes and then over the groups of the block.
src = """
#include <torch/extension.h>
struct Moments { float n, mean, m2; };
__device__ Moments merge(Moments a, Moments b) {
    float n = a.n + b.n;
    if (n == 0) return a;
    float d = b.mean - a.mean;
    return {n, a.mean + d * b.n / n, a.m2 + b.m2 + d * d * a.n * b.n / n};
}
__device__ Moments shuffle(Moments v, int o) {
    return {__shfl_down_sync(~0u, v.n, o, 32), __shfl_down_sync(~0u, v.mean, o, 32), __shfl_down_sync(~0u, v.m2, o, 32)};
}
__global__ void layer_norm_kernel(const float* x, const float* w, const float* b, float* y, int dim, float eps) {
    __shared__ Moments groups[8];
    const float* row = x + (size_t)blockIdx.x * dim;
    Moments v = {0, 0, 0};
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        v.n += 1;
        float d = row[i] - v.mean;
        v.mean += d / v.n;
        v.m2 += d * (row[i] - v.mean);
    }
    for (int o = 16; o > 0; o /= 2) v = merge(v, shuffle(v, o));
    if (threadIdx.x % 32 == 0) groups[threadIdx.x / 32] = v;
    __syncthreads();
    v = groups[0];
    for (int g = 1; g < 8; ++g) v = merge(v, groups[g]);
    float scale = rsqrtf(v.m2 / dim + eps);
    for (int i = threadIdx.x; i < dim; i += blockDim.x)
        y[(size_t)blockIdx.x * dim + i] = (row[i] - v.mean) * scale * w[i] + b[i];
}
torch::Tensor layer_norm(torch::Tensor x, at::IntArrayRef shape, torch::Tensor w, torch::Tensor b, double eps) {
    int64_t dim = 1;
    for (auto s : shape) dim *= s;
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    layer_norm_kernel<<<x.numel() / dim, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                               y.data_ptr<float>(), dim, eps);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.doc() = "layer normalisation";
    m.def("layer_norm", &layer_norm, py::arg("x"), py::arg("shape"), py::arg("w"), py::arg("b"), py::arg("eps") = 1e-5);
}
"""
ext = load_inline(name="layer_norm_welford", cpp_sources=[], cuda_sources=[src])


class ModelNew(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.shape = list(normalized_shape)
        self.ln = nn.LayerNorm(normalized_shape)

    def forward(self, x):
        return ext.layer_norm(x.contiguous(), self.shape, self.ln.weight, self.ln.bias)
