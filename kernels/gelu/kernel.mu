// SPDX-License-Identifier: Apache-2.0
// Exact GELU, x * Phi(x), as a grid-stride loop so that any grid covers any size.
// kuafu: entry=gelu args=x
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 1024;

__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t count) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) {
    const float value = x[i];
    // Phi through erfc keeps relative accuracy in the left tail, where 1 + erf would cancel.
    y[i] = 0.5f * value * erfcf(-value * 0.70710678118654752f);
  }
}

torch::Tensor gelu(torch::Tensor x) {
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  const int64_t count = x.numel();
  if (count == 0) return y;
  const int64_t wanted = (count + kThreads - 1) / kThreads;
  const unsigned blocks = static_cast<unsigned>(wanted < kMaxBlocks ? wanted : kMaxBlocks);
  gelu_kernel<<<blocks, kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), count);
  return y;
}
