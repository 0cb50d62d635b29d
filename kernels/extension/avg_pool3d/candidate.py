# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
struct Size3 { int d, h, w; };
__global__ void avg_pool3d(const float* x, float* y, Size3 in, Size3 out, int K, int S, int P) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int count = out.d * out.h * out.w;
    if (i >= count) return;
    const float* p = x + (size_t)blockIdx.y * in.d * in.h * in.w;
    int d0 = i / (out.w * out.h) * S - P, h0 = i / out.w % out.h * S - P, w0 = i % out.w * S - P;
    float sum = 0;
    for (int d = max(d0, 0); d < min(d0 + K, in.d); ++d)
        for (int h = max(h0, 0); h < min(h0 + K, in.h); ++h)
            for (int w = max(w0, 0); w < min(w0 + K, in.w); ++w) sum += p[(d * in.h + h) * in.w + w];
    y[(size_t)blockIdx.y * count + i] = sum / (K * K * K);
}
static int outputs(int n, int K, int S, int P) { return (n + 2 * P - K) / S + 1; }
torch::Tensor pool(torch::Tensor x, int64_t K, int64_t S, int64_t P) {
    TORCH_CHECK(x.dim() == 5, "x must be N, C, D, H, W");
    x = x.contiguous();
    Size3 in = {(int)x.size(2), (int)x.size(3), (int)x.size(4)};
    Size3 out = {outputs(in.d, K, S, P), outputs(in.h, K, S, P), outputs(in.w, K, S, P)};
    auto y = torch::empty({x.size(0), x.size(1), out.d, out.h, out.w}, x.options());
    if (y.numel()) avg_pool3d<<<dim3((out.d * out.h * out.w + 127) / 128, x.size(0) * x.size(1)), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), in, out, K, S, P);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("pool", &pool, "average pooling", py::arg("x"), py::arg("kernel_size"), py::arg("stride"), py::arg("padding") = 0);
}
"""
ext = load_inline(name="avg_pool3d", cpp_sources="", cuda_sources=source)


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.options = {"kernel_size": kernel_size, "stride": stride or kernel_size, "padding": padding}

    def forward(self, x):
        return ext.pool(x, **self.options)
