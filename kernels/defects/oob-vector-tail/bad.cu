// SPDX-License-Identifier: Apache-2.0
// Hazard: float4 access runs past the end when n is not a multiple of four
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n) {
  const int i = (blockIdx.x * 64 + threadIdx.x) * 4;
  if (i < n) {
    float4 v = *(const float4*)(x + i);  // EXPECT: oob
    v = make_float4(2.f * v.x + 1.f, 2.f * v.y + 1.f, 2.f * v.z + 1.f, 2.f * v.w + 1.f);
    *(float4*)(y + i) = v;  // EXPECT-ALSO: oob
  }
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
