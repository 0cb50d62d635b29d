# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# A small plane stays in shared memory, a large one is read again.
source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
template <bool kKept>
__global__ void plane_norm(const float* __restrict__ x, float* __restrict__ y, int plane, float eps) {
    extern __shared__ float kept[];
    __shared__ float group[4];
    __shared__ float result[2];
    const float* p = x + (size_t)blockIdx.x * plane;
    float part = 0;
    for (int i = threadIdx.x; i < plane; i += 128) { const float v = p[i]; if (kKept) kept[i] = v; part += v; }
    for (int pass = 0; pass < 2; ++pass) {
        for (int o = 16; o; o /= 2) part += __shfl_xor_sync(0xffffffffu, part, o, 32);
        if (threadIdx.x % 32 == 0) group[threadIdx.x / 32] = part;
        __syncthreads();
        if (threadIdx.x == 0) result[pass] = (group[0] + group[1] + group[2] + group[3]) / plane;
        __syncthreads();
        if (pass == 1) break;
        part = 0;
        for (int i = threadIdx.x; i < plane; i += 128) { const float d = (kKept ? kept[i] : p[i]) - result[0]; part += d * d; }
    }
    const float scale = 1.0f / sqrtf(result[1] + eps);
    for (int i = threadIdx.x; i < plane; i += 128)
        y[(size_t)blockIdx.x * plane + i] = ((kKept ? kept[i] : p[i]) - result[0]) * scale;
}
torch::Tensor forward(torch::Tensor x, float eps = 1e-5f) {
    auto y = torch::empty_like(x);
    const int plane = x.size(2) * x.size(3), planes = x.size(0) * x.size(1);
    auto stream = at::cuda::getCurrentCUDAStream().stream();
    if (planes == 0 || plane == 0) return y;
    if (plane <= 8192) plane_norm<true><<<planes, 128, plane * sizeof(float), stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), plane, eps);
    else plane_norm<false><<<planes, 128, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), plane, eps);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, py::arg("x"), py::arg("eps") = 1e-5f); }
"""
ext = load_inline(name="plane_norm", cpp_sources="", cuda_sources=source)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()

    def forward(self, x):
        return ext.forward(x.contiguous())
