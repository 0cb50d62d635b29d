# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# One kernel of Hopper's size of block, channels by a grid-stride loop, running statistics as one list, the count of batches kept in Python.
source = """
#include <torch/extension.h>
__inline__ __device__ float2 add(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__global__ void bn_relu(const float* __restrict__ x, const float* w, const float* b, float* rm, float* rv, float* __restrict__ y,
                        int N, int C, int plane, float momentum, float eps) {
    __shared__ float2 sums[256];
    const int count = N * plane;
    for (int c = blockIdx.x; c < C; c += gridDim.x) {
        auto at = [=](int i) { return (i / plane * C + c) * plane + i % plane; };
        const float pivot = x[at(0)];  // sums of differences to one element lose less than sums of squares
        float2 s = {0.f, 0.f};
        for (int i = threadIdx.x; i < count; i += blockDim.x) { const float d = x[at(i)] - pivot; s = add(s, {d, d * d}); }
        sums[threadIdx.x] = s;
        __syncthreads();
        for (int n = blockDim.x / 2; n > 0; n >>= 1) {
            if (threadIdx.x < n) sums[threadIdx.x] = add(sums[threadIdx.x], sums[threadIdx.x + n]);
            __syncthreads();
        }
        const float shift = sums[0].x / count, mean = pivot + shift, var = fmaxf(sums[0].y / count - shift * shift, 0.f);
        __syncthreads();
        const float scale = w[c] * rsqrtf(var + eps);
        for (int i = threadIdx.x; i < count; i += blockDim.x) y[at(i)] = fmaxf(fmaf(x[at(i)] - mean, scale, b[c]), 0.f);
        if (threadIdx.x == 0) {
            rm[c] = (1.f - momentum) * rm[c] + momentum * mean;
            rv[c] = (1.f - momentum) * rv[c] + momentum * var * count / (count - 1);
        }
    }
}
void bn_relu_out(const torch::Tensor& x, const torch::Tensor& w, const torch::Tensor& b, const std::vector<torch::Tensor>& running,
                 torch::Tensor& y, double momentum, double eps) {
    const int plane = x.size(2) * x.size(3);
    TORCH_CHECK(x.size(0) * plane > 1, "Expected more than 1 value per channel when training, got ", x.sizes());
    bn_relu<<<3, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), running[0].data_ptr<float>(), running.at(1).data_ptr<float>(),
                        y.data_ptr<float>(), x.size(0), x.size(1), plane, momentum, eps);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("bn_relu_out", &bn_relu_out, py::arg("x"), py::arg("w"), py::arg("b"), py::arg("running"), py::arg("y"), py::arg("momentum") = 0.1,
          py::arg("eps") = 1e-5);
}
"""
ext = load_inline(name="bn_relu_out", cpp_sources="", cuda_sources=source)


class ModelNew(nn.Module):
    def __init__(self, num_features, momentum, eps):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features, eps=eps, momentum=momentum)

    def forward(self, x):
        bn, x = self.bn, x.contiguous()
        y = torch.empty_like(x)
        bn.num_batches_tracked += 1
        ext.bn_relu_out(x, bn.weight, bn.bias, [bn.running_mean, bn.running_var], y, momentum=bn.momentum, eps=bn.eps)
        return y
