# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# One block for each sequence does everything in shared memory.
source = """
#include <torch/extension.h>
__global__ void multi_head(const float* x, const float* wq, const float* bq, const float* wo, const float* bo, float* y, int T, int C, int heads) {
    extern __shared__ float memory[];
    float *qkv = memory, *mixed = memory + T * 3 * C;
    const float* in = x + (size_t)blockIdx.x * T * C;
    for (int i = threadIdx.x; i < T * 3 * C; i += blockDim.x) {
        float s = bq[i % (3 * C)];
        for (int c = 0; c < C; ++c) s += in[i / (3 * C) * C + c] * wq[i % (3 * C) * C + c];
        qkv[i] = s;
    }
    __syncthreads();
    const int D = C / heads;
    for (int i = threadIdx.x; i < T * heads; i += blockDim.x) {
        const int t = i / heads, h = i % heads;
        const float* q = qkv + t * 3 * C + h * D;
        float m = -INFINITY, total = 0;
        for (int pass = 0; pass < 2; ++pass)
            for (int j = 0; j < T; ++j) {
                const float *k = qkv + j * 3 * C + C + h * D, *v = k + C;
                float s = 0;
                for (int d = 0; d < D; ++d) s += q[d] * k[d];
                s *= rsqrtf((float)D);
                if (pass == 0) { m = fmaxf(m, s); continue; }
                const float e = expf(s - m);
                for (int d = 0; d < D; ++d) mixed[t * C + h * D + d] = (j ? mixed[t * C + h * D + d] : 0.0f) + e * v[d];
                total += e;
            }
        for (int d = 0; d < D; ++d) mixed[t * C + h * D + d] /= total;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < T * C; i += blockDim.x) {
        float s = bo[i % C];
        for (int c = 0; c < C; ++c) s += mixed[i / C * C + c] * wo[i % C * C + c];
        y[(size_t)blockIdx.x * T * C + i] = s;
    }
}
torch::Tensor attention(torch::Tensor x, std::vector<torch::Tensor> p, int64_t heads) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int T = x.size(1), C = x.size(2);
    TORCH_CHECK(C % heads == 0, C, " channels do not divide by ", heads, " heads");
    const size_t bytes = T * 4 * C * sizeof(float);
    TORCH_CHECK(bytes <= 48 * 1024, "a sequence must fit into shared memory");
    if (y.numel()) multi_head<<<x.size(0), 64, bytes>>>(x.data_ptr<float>(), p[0].data_ptr<float>(), p[1].data_ptr<float>(), p[2].data_ptr<float>(), p[3].data_ptr<float>(), y.data_ptr<float>(), T, C, heads);
    return y;
}
"""
ext = load_inline(name="multi_head_block", cpp_sources="torch::Tensor attention(torch::Tensor x, std::vector<torch::Tensor> p, int64_t heads);",
                  cuda_sources=source, functions=["attention"])


class ModelNew(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        return ext.attention(x, [*self.qkv.parameters(), *self.out.parameters()], self.heads)
