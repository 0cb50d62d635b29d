# SPDX-License-Identifier: Apache-2.0
# load() of a .cu and a .cpp with a header; workspace by cudaMalloc.
import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load

folder = tempfile.mkdtemp()
files = {
    "loss.h": """
#pragma once
#include <cstdint>
void cross_entropy_launch(const float* logits, const int64_t* labels, float* out, int rows, int classes);
""",
    "loss.cpp": """
#include <torch/extension.h>
#include "loss.h"
torch::Tensor cross_entropy(torch::Tensor logits, torch::Tensor labels) {
    auto out = torch::empty({}, logits.options());
    cross_entropy_launch(logits.data_ptr<float>(), labels.data_ptr<int64_t>(), out.data_ptr<float>(), logits.size(0), logits.size(1));
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("cross_entropy", &cross_entropy, "cross entropy"); }
""",
    "loss_kernel.cu": """
#include <cuda_runtime.h>
#include "loss.h"
__global__ void row_losses(const float* logits, const int64_t* labels, float* losses, int classes) {
    __shared__ float s[64];
    const float* p = logits + (size_t)blockIdx.x * classes;
    float m = -1e30f;
    for (int c = threadIdx.x; c < classes; c += 64) m = fmaxf(m, p[c]);
    s[threadIdx.x] = m;
    __syncthreads();
    for (int n = 32; n; n /= 2) { if (threadIdx.x < n) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + n]); __syncthreads(); }
    m = s[0];
    __syncthreads();
    float sum = 0;
    for (int c = threadIdx.x; c < classes; c += 64) sum += expf(p[c] - m);
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int n = 32; n; n /= 2) { if (threadIdx.x < n) s[threadIdx.x] += s[threadIdx.x + n]; __syncthreads(); }
    if (threadIdx.x == 0) losses[blockIdx.x] = m + logf(s[0]) - p[labels[blockIdx.x]];
}
__global__ void mean_loss(const float* losses, float* out, int rows) {
    double s = 0;
    for (int r = 0; r < rows; ++r) s += losses[r];
    *out = s / rows;
}
void cross_entropy_launch(const float* logits, const int64_t* labels, float* out, int rows, int classes) {
    float* losses = nullptr;
    cudaMalloc(&losses, (rows + 1) * sizeof(float));
    if (rows > 0) row_losses<<<rows, 64>>>(logits, labels, losses, classes);
    mean_loss<<<1, 1>>>(losses, out, rows);
    cudaDeviceSynchronize();
    cudaFree(losses);
}
""",
}
for name, text in files.items():
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)
loss = load("cross_entropy_files", [os.path.join(folder, n) for n in ("loss.cpp", "loss_kernel.cu")], verbose=False)


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        return loss.cross_entropy(logits.contiguous(), labels.contiguous())
