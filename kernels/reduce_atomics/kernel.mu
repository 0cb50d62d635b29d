// SPDX-License-Identifier: Apache-2.0
// Dot product, style 4 of 5: warps reduce by shuffles, then one float atomic per warp. The order of
// the atomics is free, so the last bits may differ from run to run; the tolerance has to allow
// that.
// kuafu: entry=dot args=a,b
#include <musa_runtime.h>
#include <torch/extension.h>

#define FULL_MASK 0xffffffffu

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 64;

__global__ void dot_kernel(const float* __restrict__ a, const float* __restrict__ b, float* out,
                           int64_t count) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  float sum = 0.0f;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    sum = fmaf(a[i], b[i], sum);
  }
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(FULL_MASK, sum, offset);
  }
  if (threadIdx.x % warpSize == 0) atomicAdd(out, sum);
}

torch::Tensor dot(torch::Tensor a, torch::Tensor b) {
  TORCH_CHECK(a.scalar_type() == torch::kFloat32, "a must be float32");
  TORCH_CHECK(a.sizes() == b.sizes(), "a and b must have the same shape");
  a = a.contiguous();
  b = b.contiguous();
  torch::Tensor out = torch::zeros({1}, a.options());  // the atomics start from zero
  const int64_t count = a.numel();
  if (count == 0) return out;
  const int64_t wanted = (count + kThreads - 1) / kThreads;
  const unsigned blocks = static_cast<unsigned>(wanted < kMaxBlocks ? wanted : kMaxBlocks);
  dot_kernel<<<blocks, kThreads>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(),
                                   count);
  return out;
}
