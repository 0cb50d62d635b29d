# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Sums of chunks, a scan of those, then each chunk again from where it starts: three launches.
source = """
#include <torch/extension.h>
constexpr int kChunk = 16;
__global__ void chunk_sums(const float* x, const unsigned char* mask, float* sums, int length, int chunks) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= chunks) return;
    float s = 0;
    for (int i = c * kChunk; i < min((c + 1) * kChunk, length); ++i) s += x[blockIdx.y * length + i] * mask[blockIdx.y * length + i];
    sums[blockIdx.y * chunks + c] = s;
}
__global__ void scan_sums(float* sums, int rows, int chunks) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float carry = 0;
    for (int c = 0; c < chunks; ++c) { const float v = sums[r * chunks + c]; sums[r * chunks + c] = carry; carry += v; }
}
__global__ void write_chunks(const float* x, const unsigned char* mask, const float* starts, float* y, int length, int chunks) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= chunks) return;
    float s = starts[blockIdx.y * chunks + c];
    for (int i = c * kChunk; i < min((c + 1) * kChunk, length); ++i) {
        s += x[blockIdx.y * length + i] * mask[blockIdx.y * length + i];
        y[blockIdx.y * length + i] = s;
    }
}
torch::Tensor run(torch::Tensor x, torch::Tensor mask) {
    x = x.contiguous();
    auto bytes = mask.to(torch::kUInt8).contiguous();
    const int rows = x.size(0), length = x.size(1), chunks = (length + kChunk - 1) / kChunk;
    auto y = torch::empty_like(x), sums = torch::empty({rows, chunks}, x.options());
    if (y.numel() == 0) return y;
    const dim3 grid((chunks + 7) / 8, rows);
    chunk_sums<<<grid, 8>>>(x.data_ptr<float>(), bytes.data_ptr<uint8_t>(), sums.data_ptr<float>(), length, chunks);
    scan_sums<<<(rows + 31) / 32, 32>>>(sums.data_ptr<float>(), rows, chunks);
    write_chunks<<<grid, 8>>>(x.data_ptr<float>(), bytes.data_ptr<uint8_t>(), sums.data_ptr<float>(), y.data_ptr<float>(), length, chunks);
    return y;
}
"""
ext = load_inline(name="chunked_cumsum", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor mask);", cuda_sources=source,
                  functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        assert dim == 1

    def forward(self, x, mask):
        return ext.run(x, mask)
