# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

_source = r"""
template <typename T, typename Op>
__global__ void map_kernel(T* __restrict__ out, const T* __restrict__ in, size_t n, Op op) {
  const size_t step = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) out[i] = op(in[i]);
}
template <typename T> struct Relu {
  __device__ T operator()(T v) const { return v < T(0) ? T(0) : v; }
};
void relu_out(at::Tensor out, const at::Tensor& in) {
  TORCH_CHECK(out.sizes() == in.sizes(), "sizes differ");
  if (in.numel() == 0) return;
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(in.scalar_type(), "relu_out", [&] {
    map_kernel<scalar_t><<<8, 128>>>(out.data_ptr<scalar_t>(), in.data_ptr<scalar_t>(), in.numel(), Relu<scalar_t>{});
  });
}
"""
_ext = load_inline("relu_stride", ["void relu_out(at::Tensor out, const at::Tensor& in);"], [_source], ["relu_out"])


class ReluFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        _ext.relu_out(out, x)
        ctx.save_for_backward(out)
        return out


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, x):
        return ReluFunction.apply(x)
