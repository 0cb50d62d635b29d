# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# The kernel writes into a tensor that Python made; the grid comes from Python too.
source = """
template <typename T>
__global__ void gelu_kernel(const T* in, T* out, int n, int per_thread) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * per_thread;
  for (int i = first; i < min(first + per_thread, n); ++i) out[i] = in[i] * normcdff(in[i]);
}
void gelu_out(torch::Tensor in, torch::Tensor out, int64_t blocks, int64_t threads, int64_t per_thread) {
  TORCH_CHECK(blocks * threads * per_thread >= in.numel(), "the grid is too small");
  TORCH_INTERNAL_ASSERT(in.numel() == out.numel());
  gelu_kernel<float><<<blocks, threads>>>(in.data_ptr<float>(), out.data_ptr<float>(), in.numel(), per_thread);
}
"""
ext = load_inline(name="gelu_grid", functions=["gelu_out"], cuda_sources=[source],
                  cpp_sources=["void gelu_out(torch::Tensor in, torch::Tensor out, int64_t blocks, int64_t threads, int64_t per_thread);"])


class ModelNew(nn.Module):
    threads = 64
    per_thread = 4

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        if x.numel() == 0:
            return out
        work = self.threads * self.per_thread
        ext.gelu_out(x, out, (x.numel() + work - 1) // work, self.threads, self.per_thread)
        return out
