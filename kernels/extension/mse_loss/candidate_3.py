# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Each block adds its share; the last block to finish adds the shares in a fixed order.
source = """
#include <torch/extension.h>
__global__ void mse_last_block(const float* p, const float* t, float* parts, unsigned* done, float* loss, int n) {
    __shared__ float sums[128];
    __shared__ bool last;
    float s = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) { float d = p[i] - t[i]; s += d * d; }
    sums[threadIdx.x] = s;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sums[0];
        __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        float total = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) total += ((volatile float*)parts)[b];
        *loss = total / n;
    }
}
torch::Tensor mse(torch::Tensor p, torch::Tensor t) {
    const int n = p.numel(), blocks = std::max(1, std::min(16, (n + 127) / 128));
    auto parts = torch::empty({blocks}, p.options());
    auto done = torch::zeros({1}, p.options().dtype(torch::kInt32));
    auto loss = torch::empty({}, p.options());
    mse_last_block<<<blocks, 128>>>(p.data_ptr<float>(), t.data_ptr<float>(), parts.data_ptr<float>(),
                                    (unsigned*)done.data_ptr<int>(), loss.data_ptr<float>(), n);
    return loss;
}
"""
ext = load_inline(name="mse_last_block", cpp_sources="torch::Tensor mse(torch::Tensor p, torch::Tensor t);",
                  cuda_sources=source, functions=["mse"])


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return ext.mse(predictions.contiguous(), targets.contiguous())
