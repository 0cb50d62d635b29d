# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

constexpr int kThreads = 128;

__device__ float block_sum(float value) {
    __shared__ float scratch[kThreads];
    scratch[threadIdx.x] = value;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
        __syncthreads();
    }
    const float total = scratch[0];
    __syncthreads();  // the next call writes the same memory
    return total;
}

__device__ float block_max(float value) {
    __shared__ float scratch[kThreads];
    scratch[threadIdx.x] = value;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) scratch[threadIdx.x] = fmaxf(scratch[threadIdx.x], scratch[threadIdx.x + half]);
        __syncthreads();
    }
    const float largest = scratch[0];
    __syncthreads();
    return largest;
}

constexpr int kTile = 16;

enum Activation { kNone = 0, kRelu = 1, kGelu = 2 };

// y = activation(x * weight^T + bias) + residual
__global__ void linear_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                              const float* __restrict__ bias, const float* __restrict__ residual,
                              float* __restrict__ y, int64_t m, int64_t n, int64_t k, int activation) {
    __shared__ float x_tile[kTile][kTile + 1];
    __shared__ float w_tile[kTile][kTile + 1];
    const int64_t row = blockIdx.x * (int64_t)kTile + threadIdx.y;
    const int64_t col = blockIdx.y * (int64_t)kTile + threadIdx.x;
    const int64_t w_row = blockIdx.y * (int64_t)kTile + threadIdx.y;
    float v = 0.0f;
    for (int64_t k0 = 0; k0 < k; k0 += kTile) {
        const int64_t at = k0 + threadIdx.x;
        x_tile[threadIdx.y][threadIdx.x] = row < m && at < k ? x[row * k + at] : 0.0f;
        w_tile[threadIdx.y][threadIdx.x] = w_row < n && at < k ? weight[w_row * k + at] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kTile; ++i) v = fmaf(x_tile[threadIdx.y][i], w_tile[threadIdx.x][i], v);
        __syncthreads();
    }
    if (row >= m || col >= n) return;
    v += bias[col];
    if (activation == kRelu) v = v < 0.0f ? 0.0f : v;
    if (activation == kGelu) v = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    if (residual) v += residual[row * n + col];
    y[row * n + col] = v;
}

// The last dimension is transformed, whatever comes before it.
torch::Tensor linear(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t activation,
                     c10::optional<torch::Tensor> residual) {
    auto sizes = x.sizes().vec();
    TORCH_CHECK(sizes.back() == weight.size(1), "the input does not fit the weight");
    x = x.contiguous();
    weight = weight.contiguous();
    const int64_t n = weight.size(0), k = weight.size(1), m = x.numel() / k;
    sizes.back() = n;
    auto y = torch::empty(sizes, x.options());
    if (y.numel() == 0) return y;
    torch::Tensor added;
    if (residual.has_value()) added = residual->contiguous();
    const dim3 grid((m + kTile - 1) / kTile, (n + kTile - 1) / kTile);
    linear_kernel<<<grid, dim3(kTile, kTile)>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                                bias.data_ptr<float>(),
                                                residual.has_value() ? added.data_ptr<float>() : nullptr,
                                                y.data_ptr<float>(), m, n, k, activation);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

// A block for each query of each head. Keys come kThreads at a time; the sum is rescaled when a larger score comes.
__global__ void attention_kernel(const float* __restrict__ qkv, float* __restrict__ out, int64_t length,
                                 int64_t heads, int64_t depth, float scale) {
    extern __shared__ float memory[];
    __shared__ float weights[kThreads];
    float* q = memory;
    float* sums = memory + depth;
    const int64_t width = heads * depth;
    const int64_t t = blockIdx.x % length;
    const int64_t h = blockIdx.x / length % heads;
    const int64_t b = blockIdx.x / (length * heads);
    const float* rows = qkv + b * length * 3 * width + h * depth;
    for (int64_t d = threadIdx.x; d < depth; d += kThreads) {
        q[d] = rows[t * 3 * width + d];
        sums[d] = 0.0f;
    }
    __syncthreads();
    float largest = -INFINITY, total = 0.0f;
    for (int64_t k0 = 0; k0 < length; k0 += kThreads) {
        const int64_t key = k0 + threadIdx.x;
        float score = -INFINITY;
        if (key < length) {
            const float* k = rows + key * 3 * width + width;
            score = 0.0f;
            for (int64_t d = 0; d < depth; ++d) score = fmaf(q[d], k[d], score);
            score *= scale;
        }
        const float next = fmaxf(largest, block_max(score));
        const float weight = key < length ? expf(score - next) : 0.0f;
        weights[threadIdx.x] = weight;
        const float added = block_sum(weight);
        const float correction = expf(largest - next);
        const int64_t keys = min((int64_t)kThreads, length - k0);
        for (int64_t d = threadIdx.x; d < depth; d += kThreads) {
            float sum = sums[d] * correction;
            for (int64_t i = 0; i < keys; ++i) {
                sum = fmaf(weights[i], rows[(k0 + i) * 3 * width + 2 * width + d], sum);
            }
            sums[d] = sum;
        }
        total = total * correction + added;
        largest = next;
        __syncthreads();
    }
    for (int64_t d = threadIdx.x; d < depth; d += kThreads) {
        out[(b * length + t) * width + h * depth + d] = sums[d] / total;
    }
}

torch::Tensor causal_attention(torch::Tensor qkv, int64_t heads) {
    TORCH_CHECK(qkv.dim() == 3 && qkv.size(2) % (3 * heads) == 0, "the width does not divide into the heads");
    qkv = qkv.contiguous();
    const int64_t batch = qkv.size(0), length = qkv.size(1), width = qkv.size(2) / 3, depth = width / heads;
    auto out = torch::empty({batch, length, width}, qkv.options());
    if (out.numel() == 0) return out;
    attention_kernel<<<batch * heads * length, kThreads, 2 * depth * sizeof(float)>>>(
        qkv.data_ptr<float>(), out.data_ptr<float>(), length, heads, depth, 1.0f / std::sqrt((float)depth));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

cpp_source = r"""
torch::Tensor linear(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t activation,
                     c10::optional<torch::Tensor> residual);
torch::Tensor causal_attention(torch::Tensor qkv, int64_t heads);
"""

ext = load_inline(
    name="level_3_problem_43_1",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["linear", "causal_attention"],
)


class ModelNew(nn.Module):
    def __init__(self, n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen):
        super().__init__()
        assert n_embd % n_head == 0 and attn_pdrop == 0.0 and resid_pdrop == 0.0
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        mask = torch.tril(torch.ones(max_seqlen, max_seqlen))
        self.register_buffer("bias", mask.view(1, 1, max_seqlen, max_seqlen))
        self.n_head = n_head

    def forward(self, x):
        qkv = ext.linear(x, self.c_attn.weight, self.c_attn.bias, 0, None)
        y = ext.causal_attention(qkv, self.n_head)
        return ext.linear(y, self.c_proj.weight, self.c_proj.bias, 0, None)
