# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Numbers in a struct, a stream of its own that is waited for.
source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
struct Numbers { float alpha, shift, sign; };
__global__ void affine(const float* x, float* y, int n, const Numbers numbers) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) y[i] = numbers.sign * (x[i] * numbers.alpha + numbers.shift);
}
torch::Tensor affine_forward(torch::Tensor x, float alpha, int shift, bool negate) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    if (n == 0) return y;
    cudaStream_t stream;
    cudaEvent_t ready;
    AT_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    AT_CUDA_CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    cudaEventRecord(ready, at::cuda::getCurrentCUDAStream());
    cudaStreamWaitEvent(stream, ready, 0);
    affine<<<(n + 95) / 96, 96, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, Numbers{alpha, (float)shift, negate ? -1.0f : 1.0f});
    AT_CUDA_CHECK(cudaStreamSynchronize(stream));
    cudaEventDestroy(ready);
    cudaStreamDestroy(stream);
    return y;
}
"""
ext = load_inline(name="affine_stream", cpp_sources="torch::Tensor affine_forward(torch::Tensor x, float alpha, int shift, bool negate);",
                  cuda_sources=source, functions=["affine_forward"])


class ModelNew(nn.Module):
    def forward(self, x, alpha: float, shift: int, negate: bool):
        return ext.affine_forward(x.contiguous(), alpha, shift, negate)
