# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# A dispatch over dtypes with a wider type to add in, a macro that checks, a row by a block of any size.
source = """
#include <torch/extension.h>
#define CHECK_INPUT(x) TORCH_CHECK((x).is_cuda() && (x).is_contiguous(), #x " must be a contiguous tensor on the device")
template <typename scalar_t>
__global__ void rms_kernel(const scalar_t* x, const scalar_t* w, scalar_t* y, int dim, double eps) {
    extern __shared__ double partial[];
    double s = 0;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) s += (double)x[blockIdx.x * dim + i] * x[blockIdx.x * dim + i];
    partial[threadIdx.x] = s;
    __syncthreads();
    s = 0;
    for (int i = 0; i < blockDim.x; ++i) s += partial[i];
    const scalar_t scale = static_cast<scalar_t>(rsqrt(s / dim + eps));
    for (int i = threadIdx.x; i < dim; i += blockDim.x) y[blockIdx.x * dim + i] = x[blockIdx.x * dim + i] * scale * w[i];
}
torch::Tensor rms(torch::Tensor x, torch::Tensor w, double eps) {
    CHECK_INPUT(x);
    CHECK_INPUT(w);
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    const int threads = std::min<int64_t>(48, x.size(-1));
    AT_DISPATCH_ALL_TYPES(x.scalar_type(), "rms", ([&] {
        rms_kernel<scalar_t><<<x.size(0), threads, threads * sizeof(double)>>>(x.data_ptr<scalar_t>(), w.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.size(-1), eps);
    }));
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("rms", &rms); }
"""


class ModelNew(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))
        self.kernels = load_inline(name="rms_dispatch", cpp_sources=[], cuda_sources=[source], verbose=False)

    def forward(self, x):
        return self.kernels.rms(x.contiguous(), self.weight, self.eps)
