// SPDX-License-Identifier: Apache-2.0
// Hazard: second operand is never read
#include <torch/extension.h>

__global__ void dot(const float* a, const float* b, float* y, int n) {  // EXPECT: wrong_result
  float acc = 0.f;
  for (int i = threadIdx.x; i < n; i += 256) acc += a[i] * a[i];
  __shared__ float s[256];
  s[threadIdx.x] = acc;
  __syncthreads();
  if (threadIdx.x == 0) {
    acc = 0.f;
    for (int i = 0; i < 256; ++i) acc += s[i];
    *y = acc;
  }
}

torch::Tensor forward(torch::Tensor a_in, torch::Tensor b_in) {
  auto a = a_in.contiguous(), b = b_in.contiguous();
  auto y = torch::empty({}, a.options());
  dot<<<1, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), (int)a.numel());
  return y;
}
