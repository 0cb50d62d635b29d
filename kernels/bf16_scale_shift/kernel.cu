// SPDX-License-Identifier: Apache-2.0
// Column-wise scale and shift on bfloat16: eight bits of mantissa make one rounding at the end
// matter.
// kuafu: entry=scale_shift args=x,scale,shift
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;

__global__ void scale_shift_kernel(const __nv_bfloat16* __restrict__ x,
                                   const __nv_bfloat16* __restrict__ scale,
                                   const __nv_bfloat16* __restrict__ shift,
                                   __nv_bfloat16* __restrict__ y, int64_t count, int64_t dim) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    const int64_t column = i % dim;
    y[i] = __float2bfloat16(fmaf(__bfloat162float(x[i]), __bfloat162float(scale[column]),
                                 __bfloat162float(shift[column])));
  }
}

static __nv_bfloat16* pointer(const torch::Tensor& tensor) {
  return reinterpret_cast<__nv_bfloat16*>(tensor.data_ptr<at::BFloat16>());
}

torch::Tensor scale_shift(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kBFloat16, "x must be bfloat16");
  TORCH_CHECK(scale.numel() == x.size(1) && shift.numel() == x.size(1), "scale, shift: [dim]");
  x = x.contiguous();
  scale = scale.contiguous();
  shift = shift.contiguous();
  torch::Tensor y = torch::empty_like(x);
  const int64_t count = x.numel();
  if (count == 0) return y;
  scale_shift_kernel<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads>>>(
      pointer(x), pointer(scale), pointer(shift), pointer(y), count, x.size(1));
  return y;
}
