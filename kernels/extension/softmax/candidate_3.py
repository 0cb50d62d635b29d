# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# One pass that keeps a maximum and a sum that fits it, then one pass that divides.
src = """
struct State { float m, s; };
__device__ State join(State a, State b) {
    if (b.m > a.m) { State t = a; a = b; b = t; }
    if (b.s != 0.0f) a.s += b.s * expf(b.m - a.m);
    return a;
}
__global__ void online_softmax(const float* __restrict__ x, float* __restrict__ y, int dim) {
    __shared__ State states[128];
    const float* row = x + (long long)blockIdx.x * dim;
    State mine = {-INFINITY, 0.0f};
    for (int i = threadIdx.x; i < dim; i += 128) mine = join(mine, State{row[i], 1.0f});
    states[threadIdx.x] = mine;
    __syncthreads();
    for (int n = 64; n; n >>= 1) {
        if (threadIdx.x < n) states[threadIdx.x] = join(states[threadIdx.x], states[threadIdx.x + n]);
        __syncthreads();
    }
    const State all = states[0];
    for (int i = threadIdx.x; i < dim; i += 128) y[(long long)blockIdx.x * dim + i] = expf(row[i] - all.m) / all.s;
}
void softmax_into(torch::Tensor x, torch::Tensor y) {
    if (y.numel() == 0) return;
    online_softmax<<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    AT_CUDA_CHECK(cudaGetLastError());
}
"""
ext = load_inline(name="softmax_online", cpp_sources="void softmax_into(torch::Tensor x, torch::Tensor y);",
                  cuda_sources="#include <ATen/cuda/CUDAContext.h>\n" + src, functions="softmax_into")


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        ext.softmax_into(x, y)
        return y
