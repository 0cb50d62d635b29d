# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Channels go first by a view; Welford by lanes, the running statistics by a second kernel.
source = """
#include <torch/extension.h>
__global__ void normalise(const float* x, const float* w, const float* b, float* y, float* mean_var, int count, float eps) {
    __shared__ float means[64], m2s[64], counts[64];
    float n = 0, mean = 0, m2 = 0;
    const float* p = x + (size_t)blockIdx.x * count;
    for (int i = threadIdx.x; i < count; i += 64) {
        n += 1;
        const float d = p[i] - mean;
        mean += d / n;
        m2 += d * (p[i] - mean);
    }
    means[threadIdx.x] = mean; m2s[threadIdx.x] = m2; counts[threadIdx.x] = n;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (threadIdx.x < k) {
            const int o = threadIdx.x + k;
            const float total = counts[threadIdx.x] + counts[o], d = means[o] - means[threadIdx.x];
            if (counts[o] > 0) {
                means[threadIdx.x] += d * counts[o] / total;
                m2s[threadIdx.x] += m2s[o] + d * d * counts[threadIdx.x] * counts[o] / total;
                counts[threadIdx.x] = total;
            }
        }
        __syncthreads();
    }
    const float scale = w[blockIdx.x] * rsqrtf(m2s[0] / count + eps), centre = means[0];
    for (int i = threadIdx.x; i < count; i += 64) y[(size_t)blockIdx.x * count + i] = (p[i] - centre) * scale + b[blockIdx.x];
    if (threadIdx.x == 0) { mean_var[2 * blockIdx.x] = centre; mean_var[2 * blockIdx.x + 1] = m2s[0] / (count - 1); }
}
__global__ void update(const float* mean_var, float* mean, float* var, int channels, float momentum) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= channels) return;
    mean[c] = mean[c] * (1.0f - momentum) + mean_var[2 * c] * momentum;
    var[c] = var[c] * (1.0f - momentum) + mean_var[2 * c + 1] * momentum;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor mean, torch::Tensor var, float momentum, float eps) {
    auto y = torch::empty_like(x);
    const int channels = x.size(0), count = x.numel() / channels;
    TORCH_CHECK(count > 1, "Expected more than 1 value per channel when training");
    auto mean_var = torch::empty({channels, 2}, x.options());
    normalise<<<channels, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), mean_var.data_ptr<float>(), count, eps);
    update<<<(channels + 31) / 32, 32>>>(mean_var.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(), channels, momentum);
    return y;
}
"""
ext = load_inline(name="bn_channels_first", cuda_sources=source, functions=["forward"], cpp_sources="torch::Tensor forward(torch::Tensor x, "
                  "torch::Tensor w, torch::Tensor b, torch::Tensor mean, torch::Tensor var, float momentum, float eps);")


class ModelNew(nn.Module):
    def __init__(self, num_features):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features=num_features)

    def forward(self, x):
        bn = self.bn
        y = ext.forward(x.transpose(0, 1).contiguous(), bn.weight, bn.bias, bn.running_mean, bn.running_var, bn.momentum, bn.eps)
        return y.transpose(0, 1).contiguous()
