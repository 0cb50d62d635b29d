// SPDX-License-Identifier: Apache-2.0
// relu(a + b) with 16-byte loads, a scalar tail, and a scalar path where an address is not aligned.
// kuafu: entry=add_relu args=a,b
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;

__device__ __forceinline__ float relu_of(float value) { return value < 0.0f ? 0.0f : value; }

// Thread i of the first count/4 takes a whole vector; the next count%4 threads take one element
// each.
__global__ void add_relu_vec4(const float* __restrict__ a, const float* __restrict__ b,
                              float* __restrict__ out, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t vectors = count / 4;
  if (i < vectors) {
    const float4 u = reinterpret_cast<const float4*>(a)[i];
    const float4 v = reinterpret_cast<const float4*>(b)[i];
    float4 r;
    r.x = relu_of(u.x + v.x);
    r.y = relu_of(u.y + v.y);
    r.z = relu_of(u.z + v.z);
    r.w = relu_of(u.w + v.w);
    reinterpret_cast<float4*>(out)[i] = r;
  } else {
    const int64_t tail = vectors * 4 + (i - vectors);
    if (tail < count) out[tail] = relu_of(a[tail] + b[tail]);
  }
}

__global__ void add_relu_scalar(const float* __restrict__ a, const float* __restrict__ b,
                                float* __restrict__ out, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) out[i] = relu_of(a[i] + b[i]);
}

static bool aligned16(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

torch::Tensor add_relu(torch::Tensor a, torch::Tensor b) {
  TORCH_CHECK(a.scalar_type() == torch::kFloat32, "a must be float32");
  TORCH_CHECK(a.sizes() == b.sizes(), "a and b must have the same shape");
  a = a.contiguous();
  b = b.contiguous();
  torch::Tensor out = torch::empty_like(a);
  const int64_t count = a.numel();
  if (count == 0) return out;
  const float* pa = a.data_ptr<float>();
  const float* pb = b.data_ptr<float>();
  float* po = out.data_ptr<float>();
  // A contiguous view may still start in the middle of a storage.
  if (aligned16(pa) && aligned16(pb) && aligned16(po)) {
    const int64_t work = count / 4 + count % 4;
    const unsigned blocks = static_cast<unsigned>((work + kThreads - 1) / kThreads);
    add_relu_vec4<<<blocks, kThreads>>>(pa, pb, po, count);
  } else {
    const unsigned blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
    add_relu_scalar<<<blocks, kThreads>>>(pa, pb, po, count);
  }
  return out;
}
