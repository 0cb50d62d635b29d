# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Three functions in a namespace, called one after another from Python.
source = r"""
#include <torch/extension.h>
namespace stages {
__global__ void norm_kernel(const float* x, const float* g, const float* b, float* y, int dim, float eps) {
  const int lane = threadIdx.x;
  const float* row = x + (int64_t)blockIdx.x * dim;
  float s = 0.f, q = 0.f;
  for (int i = lane; i < dim; i += 32) s += row[i];
  for (int o = 16; o; o /= 2) s += __shfl_xor_sync(0xffffffffu, s, o, 32);
  const float mean = s / dim;
  for (int i = lane; i < dim; i += 32) q += (row[i] - mean) * (row[i] - mean);
  for (int o = 16; o; o /= 2) q += __shfl_xor_sync(0xffffffffu, q, o, 32);
  const float scale = rsqrtf(q / dim + eps);
  for (int i = lane; i < dim; i += 32) y[(int64_t)blockIdx.x * dim + i] = (row[i] - mean) * scale * g[i] + b[i];
}
__global__ void gelu_kernel(float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float v = x[i], u = 1.5957691216f * (v + 0.044715f * v * v * v);
    x[i] = v / (1.f + expf(-u));
  }
}
__global__ void linear_kernel(const float* x, const float* w, const float* b, float* y, int M, int N, int K) {
  const int n = blockIdx.x * 16 + threadIdx.x, m = blockIdx.y * 4 + threadIdx.y;
  if (n >= N || m >= M) return;
  float s = 0.f;
  for (int k = 0; k < K; ++k) s += x[m * K + k] * w[n * K + k];
  y[m * N + n] = s + b[n];
}
at::Tensor norm(const at::Tensor& x, const at::Tensor& g, const at::Tensor& b) {
  auto y = at::empty_like(x);
  if (y.numel()) norm_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), g.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), x.size(1), 1e-5f);
  return y;
}
at::Tensor& gelu_(at::Tensor& x) {
  if (x.numel()) gelu_kernel<<<2, 96>>>(x.data_ptr<float>(), x.numel());
  return x;
}
at::Tensor linear(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b) {
  auto y = at::empty({x.size(0), w.size(0)}, x.options());
  if (y.numel()) linear_kernel<<<dim3((w.size(0) + 15) / 16, (x.size(0) + 3) / 4), dim3(16, 4)>>>(x.data_ptr<float>(), w.data_ptr<float>(),
      b.data_ptr<float>(), y.data_ptr<float>(), x.size(0), w.size(0), x.size(1));
  return y;
}
}  // namespace stages
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("norm", &stages::norm);
  m.def("gelu_", [](at::Tensor x) { return stages::gelu_(x); });
  m.def("linear", &stages::linear);
}
"""
ext = load_inline(name="stages", cpp_sources="", cuda_sources=source)


class ModelNew(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.linear = nn.Linear(features, outputs)

    def forward(self, x):
        y = ext.norm(x.contiguous(), self.norm.weight, self.norm.bias)
        ext.gelu_(y)
        return ext.linear(y, self.linear.weight, self.linear.bias)
