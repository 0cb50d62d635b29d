// SPDX-License-Identifier: Apache-2.0
// Hard swish with 16-byte loads and a scalar tail of up to three elements.
// kuafu: entry=hardswish args=x
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;

__device__ __forceinline__ float hardswish_of(float x) {
  return x * fminf(fmaxf(x + 3.0f, 0.0f), 6.0f) / 6.0f;
}

__global__ void hardswish_kernel(const float* __restrict__ x, float* __restrict__ y,
                                 int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t vectors = count / 4;
  if (i < vectors) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    reinterpret_cast<float4*>(y)[i] =
        make_float4(hardswish_of(v.x), hardswish_of(v.y), hardswish_of(v.z), hardswish_of(v.w));
  } else {
    const int64_t tail = vectors * 4 + (i - vectors);
    if (tail < count) y[tail] = hardswish_of(x[tail]);
  }
}

torch::Tensor hardswish(torch::Tensor x) {
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  TORCH_CHECK(reinterpret_cast<uintptr_t>(x.data_ptr<float>()) % 16 == 0, "x must be aligned");
  torch::Tensor y = torch::empty_like(x);
  const int64_t count = x.numel();
  if (count == 0) return y;
  const int64_t work = count / 4 + count % 4;
  const unsigned blocks = static_cast<unsigned>((work + kThreads - 1) / kThreads);
  hardswish_kernel<<<blocks, kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), count);
  return y;
}
