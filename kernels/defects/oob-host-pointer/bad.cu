// SPDX-License-Identifier: Apache-2.0
// Hazard: host pointer dereferenced on the device
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, const float* f, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = f[0] * x[i] + f[1];  // EXPECT: oob
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  static float factor[2] = {2.f, 1.f};
  float* f = factor;
  if (n > 0)
    scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), f, n);
  return y;
}
