// SPDX-License-Identifier: Apache-2.0
// Hostile: device recursion without end
#include <torch/extension.h>

__device__ __noinline__ float down(float v, int k) {
  volatile float pad[64];
  pad[k & 63] = v;
  return down(v + 1.f, k + 1) + pad[(k + 1) & 63];
}
__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = down(x[i], i);
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
