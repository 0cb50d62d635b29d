// SPDX-License-Identifier: Apache-2.0
// Hostile: two thousand kernels
#include <torch/extension.h>

template <int N>
__global__ void many(float* p) {
  p[threadIdx.x] = N;
}
@KERNELS@
__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i] + 1.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
