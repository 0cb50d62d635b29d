# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Mean and reciprocal deviation by one kernel, one thread for each element in a second one.
src = """
#include <torch/extension.h>
std::vector<torch::Tensor> statistics(torch::Tensor x, float eps);
torch::Tensor apply(torch::Tensor x, std::vector<torch::Tensor> stats, torch::Tensor weight, torch::Tensor bias);

__global__ void statistics_kernel(const float* x, float* mean, float* rstd, int dim, float eps) {
    extern __shared__ double sums[];
    double s = 0, q = 0;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        double v = x[(size_t)blockIdx.x * dim + i];
        s += v;
        q += v * v;
    }
    sums[threadIdx.x] = s;
    sums[threadIdx.x + blockDim.x] = q;
    __syncthreads();
    if (threadIdx.x == 0) {
        s = q = 0;
        for (int i = 0; i < blockDim.x; ++i) { s += sums[i]; q += sums[i + blockDim.x]; }
        mean[blockIdx.x] = s / dim;
        double var = q / dim - s / dim * (s / dim);
        rstd[blockIdx.x] = 1.0 / sqrt((var > 0 ? var : 0) + eps);
    }
}
__global__ void apply_kernel(const float* x, const float* mean, const float* rstd, const float* w, const float* b,
                             float* y, int dim, int total) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < total) y[i] = (x[i] - mean[i / dim]) * rstd[i / dim] * w[i % dim] + b[i % dim];
}
std::vector<torch::Tensor> statistics(torch::Tensor x, float eps) {
    auto mean = torch::empty(x.size(0), x.options()), rstd = torch::empty_like(mean);
    if (x.numel()) statistics_kernel<<<x.size(0), 64, 128 * sizeof(double)>>>(
        x.data_ptr<float>(), mean.data_ptr<float>(), rstd.data_ptr<float>(), x.size(1), eps);
    return {mean, rstd};
}
torch::Tensor apply(torch::Tensor x, std::vector<torch::Tensor> stats, torch::Tensor weight, torch::Tensor bias) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    if (n) apply_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), stats[0].data_ptr<float>(), stats[1].data_ptr<float>(),
        weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), x.size(1), n);
    return y;
}
"""
decl = """
std::vector<torch::Tensor> statistics(torch::Tensor x, float eps);
torch::Tensor apply(torch::Tensor x, std::vector<torch::Tensor> stats, torch::Tensor weight, torch::Tensor bias);
"""
ext = load_inline(name="layer_norm_two", cpp_sources=decl, cuda_sources=src, functions=["statistics", "apply"])


class ModelNew(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))

    def forward(self, x):
        rows = x.reshape(x.size(0), self.weight.numel()).contiguous()
        stats = ext.statistics(rows, 1e-5)
        return ext.apply(rows, stats, self.weight, self.bias).view(x.shape)
