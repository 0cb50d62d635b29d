# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Four warps of 32 lanes in a block, each with a row of its own; any strides of the rows.
source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAGuard.h>
constexpr int kLanes = 32, kRows = 4;
__global__ void rms_norm_rows(const float* __restrict__ x, int64_t row_stride, int64_t stride,
                              const float* __restrict__ w, float* __restrict__ y, int rows, int dim, float eps) {
  const int lane = threadIdx.x % kLanes, wanted = blockIdx.x * kRows + threadIdx.x / kLanes;
  const int row = min(wanted, rows - 1);
  float s = 0.f;
  for (int i = lane; i < dim; i += kLanes) { const float v = x[row * row_stride + i * stride]; s = fmaf(v, v, s); }
#pragma unroll
  for (int o = kLanes / 2; o > 0; o /= 2) s += __shfl_down_sync(0xffffffffu, s, o, kLanes);
  s = __shfl_sync(0xffffffffu, s, 0, kLanes);
  const float scale = 1.f / sqrtf(s / dim + eps);
  if (wanted >= rows) return;
  for (int i = lane; i < dim; i += kLanes) y[(int64_t)row * dim + i] = x[row * row_stride + i * stride] * scale * __ldg(w + i);
}
torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& w, double eps) {
  const c10::cuda::CUDAGuard guard(x.device());
  auto y = torch::empty(x.sizes(), x.options());
  const int rows = x.size(0), dim = x.size(1);
  if (y.numel() == 0) return y;
  rms_norm_rows<<<(rows + kRows - 1) / kRows, kRows * kLanes>>>(x.data_ptr<float>(), x.stride(0), x.stride(1),
      w.data_ptr<float>(), y.data_ptr<float>(), rows, dim, static_cast<float>(eps));
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "RMS norm (CUDA)"); }
"""
_module = None


def module():
    """Built when it is first needed."""
    global _module
    if _module is None:
        _module = load_inline(name="rms_norm_rows", cpp_sources=[""], cuda_sources=[source], extra_cuda_cflags=["-O3"])
    return _module


class ModelNew(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        return module().forward(x, self.weight, self.eps)
