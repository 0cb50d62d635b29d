# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

// A thread for each position; neighbours read neighbours in every channel.
__global__ void rms_norm_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t batch,
                                int64_t channels, int64_t plane, float eps) {
    const int64_t index = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (index >= batch * plane) return;
    const int64_t begin = index / plane * channels * plane + index % plane;
    float squares = 0.0f;
    for (int64_t c = 0; c < channels; ++c) squares += x[begin + c * plane] * x[begin + c * plane];
    const float rms = sqrtf(squares / channels + eps);
    for (int64_t c = 0; c < channels; ++c) y[begin + c * plane] = x[begin + c * plane] / rms;
}

torch::Tensor rms_norm(torch::Tensor x, double eps) {
    TORCH_CHECK(x.dim() >= 2, "a dimension of channels expected");
    x = x.contiguous();
    auto y = x;
    if (x.numel() == 0) return y;
    const int64_t batch = x.size(0), channels = x.size(1), plane = x.numel() / (batch * channels);
    rms_norm_kernel<<<(batch * plane + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), batch, channels,
                                                         plane, eps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cpp_source = r"""
torch::Tensor rms_norm(torch::Tensor x, double eps);
"""

ext = load_inline(
    name="level_1_problem_36_1",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["rms_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x):
        return ext.rms_norm(x, self.eps)
