// SPDX-License-Identifier: Apache-2.0
// Swish on half precision, two elements per load and a scalar tail; arithmetic is in float and
// rounds to half once, at the end.
// kuafu: entry=swish args=x
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;

__device__ float swish_of(float x) { return x / (1.0f + expf(-x)); }

__global__ void swish_kernel(const __half* __restrict__ x, __half* __restrict__ y, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t pairs = count / 2;
  if (i < pairs) {
    const float2 v = __half22float2(reinterpret_cast<const __half2*>(x)[i]);
    reinterpret_cast<__half2*>(y)[i] = __floats2half2_rn(swish_of(v.x), swish_of(v.y));
  } else if (i == pairs && count % 2 == 1) {
    y[count - 1] = __float2half(swish_of(__half2float(x[count - 1])));
  }
}

torch::Tensor swish(torch::Tensor x) {
  TORCH_CHECK(x.scalar_type() == torch::kFloat16, "x must be float16");
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  const int64_t count = x.numel();
  if (count == 0) return y;
  const __half* in = reinterpret_cast<const __half*>(x.data_ptr<at::Half>());
  __half* out = reinterpret_cast<__half*>(y.data_ptr<at::Half>());
  TORCH_CHECK(reinterpret_cast<uintptr_t>(in) % 4 == 0, "x must be aligned to four bytes");
  const int64_t work = (count + 1) / 2;
  swish_kernel<<<static_cast<unsigned>((work + kThreads - 1) / kThreads), kThreads>>>(in, out,
                                                                                      count);
  return y;
}
