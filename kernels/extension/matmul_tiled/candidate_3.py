# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Each thread keeps 4 x 4 sums in registers; a tile of 32 x 32 for each block of 8 x 8 threads.
source = r"""
#include <torch/extension.h>
template <int TILE, int DEPTH, int PER>
__global__ void __launch_bounds__((TILE / PER) * (TILE / PER))
matmul_registers(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int M, int N, int K) {
    constexpr int SIDE = TILE / PER;
    __shared__ float as[DEPTH][TILE + 1];
    __shared__ float bs[DEPTH][TILE];
    const int tid = threadIdx.y * SIDE + threadIdx.x;
    const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float sums[PER][PER] = {};
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
        for (int i = tid; i < TILE * DEPTH; i += SIDE * SIDE) {
            const int r = i / DEPTH, k = i % DEPTH;
            as[k][r] = row0 + r < M && k0 + k < K ? a[(row0 + r) * K + k0 + k] : 0.f;
        }
        for (int i = tid; i < TILE * DEPTH; i += SIDE * SIDE) {
            const int k = i / TILE, col = i % TILE;
            bs[k][col] = col0 + col < N && k0 + k < K ? b[(k0 + k) * N + col0 + col] : 0.f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float left[PER], right[PER];
#pragma unroll
            for (int i = 0; i < PER; ++i) { left[i] = as[k][threadIdx.y * PER + i]; right[i] = bs[k][threadIdx.x + i * SIDE]; }
#pragma unroll
            for (int i = 0; i < PER; ++i)
#pragma unroll
                for (int j = 0; j < PER; ++j) sums[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < PER; ++i)
        for (int j = 0; j < PER; ++j) {
            const int r = row0 + threadIdx.y * PER + i, col = col0 + threadIdx.x + j * SIDE;
            if (r < M && col < N) c[r * N + col] = sums[i][j];
        }
}
torch::Tensor matmul(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty({a.size(0), b.size(1)}, torch::dtype(a.dtype()).device(a.device()));
    const int M = a.size(0), N = b.size(1), K = a.size(1);
    if (!c.numel()) return c;
    matmul_registers<32, 8, 4><<<dim3((N + 31) / 32, (M + 31) / 32), dim3(8, 8)>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), M, N, K);
    return c;
}
"""
ext = load_inline(name="matmul_registers", cpp_sources="torch::Tensor matmul(torch::Tensor, torch::Tensor);",
                  cuda_sources=source, functions=["matmul"], extra_cuda_cflags=["-O3", "-arch=sm_90"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.matmul = ext.matmul

    def forward(self, A, B):
        return self.matmul(A.contiguous(), B.contiguous())
