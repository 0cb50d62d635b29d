# SPDX-License-Identifier: Apache-2.0
import math

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__device__ __forceinline__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffff, v, offset, 32);
    return v;
}

__device__ float block_sum(float v, float* scratch) {
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    float total = 0.f;
    for (int i = 0; i < blockDim.x / 32; ++i) total += scratch[i];
    __syncthreads();
    return total;
}

__global__ void layer_norm_kernel(const float* x, const float* gamma, const float* beta, float* y,
                                  int n, float eps) {
    __shared__ float scratch[8];
    x += (int64_t)blockIdx.x * n;
    y += (int64_t)blockIdx.x * n;
    float sum = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    const float mean = block_sum(sum, scratch) / n;
    float squares = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) squares += (x[i] - mean) * (x[i] - mean);
    const float rstd = rsqrtf(block_sum(squares, scratch) / n + eps);
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
    const int64_t n = gamma.numel();
    TORCH_CHECK(n > 0 && x.numel() % n == 0, "x does not hold whole rows of ", n);
    auto y = torch::empty_like(x);
    const int rows = x.numel() / n;
    if (rows > 0) {
        layer_norm_kernel<<<rows, 256>>>(x.data_ptr<float>(), gamma.data_ptr<float>(),
                                         beta.data_ptr<float>(), y.data_ptr<float>(), n,
                                         static_cast<float>(eps));
    }
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self, normalized_shape):
        super(ModelNew, self).__init__()
        # Kept for its parameters; the module itself is never called.
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)
        self.size = math.prod(normalized_shape)
        self.ext = load_inline(
            name="layer_norm_ext",
            cpp_sources="torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps);",
            cuda_sources=source,
            functions=["layer_norm"],
            verbose=True,
        )

    def forward(self, x):
        x = x.contiguous()
        return self.ext.layer_norm(x, self.ln.weight, self.ln.bias, self.ln.eps)
