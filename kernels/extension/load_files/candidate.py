# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import textwrap

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load

HEADER = """
#pragma once
#include <torch/extension.h>
void launch_avg_pool(const float* x, float* y, int planes, int length, int out_length, int kernel, int stride,
                     int padding);
"""

CPP = """
#include "avg_pool.h"

torch::Tensor avg_pool(torch::Tensor x, int kernel, int stride, int padding) {
    TORCH_CHECK(x.dim() == 3, "x must be N, C, L");
    x = x.contiguous();
    const int length = x.size(2);
    const int out_length = (length + 2 * padding - kernel) / stride + 1;
    auto y = torch::empty({x.size(0), x.size(1), out_length}, x.options());
    launch_avg_pool(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0) * x.size(1), length, out_length, kernel,
                    stride, padding);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("avg_pool", &avg_pool); }
"""

CUDA = """
#include "avg_pool.h"
#include <cuda_runtime.h>

__global__ void avg_pool_kernel(const float* x, float* y, int length, int out_length, int kernel, int stride,
                                int padding) {
    const int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= out_length) return;
    const float* plane = x + (size_t)blockIdx.y * length;
    float sum = 0.0f;
    for (int k = 0; k < kernel; ++k) {
        const int i = o * stride + k - padding;
        if (i >= 0 && i < length) sum += plane[i];
    }
    y[(size_t)blockIdx.y * out_length + o] = sum / kernel;
}

void launch_avg_pool(const float* x, float* y, int planes, int length, int out_length, int kernel, int stride,
                     int padding) {
    if (planes <= 0 || out_length <= 0) return;
    const dim3 grid((out_length + 63) / 64, planes);
    avg_pool_kernel<<<grid, 64>>>(x, y, length, out_length, kernel, stride, padding);
}
"""


def build():
    folder = tempfile.mkdtemp(prefix="avg_pool_")
    for name, text in (("avg_pool.h", HEADER), ("avg_pool.cpp", CPP), ("avg_pool_kernel.cu", CUDA)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(textwrap.dedent(text))
    return load(
        name="avg_pool_files",
        sources=[os.path.join(folder, "avg_pool.cpp"), os.path.join(folder, "avg_pool_kernel.cu")],
        extra_include_paths=[folder],
        extra_cuda_cflags=["-O2"],
        verbose=False,
    )


_ext = build()


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x):
        return _ext.avg_pool(x, self.kernel_size, self.stride, self.padding)
