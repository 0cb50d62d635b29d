// SPDX-License-Identifier: Apache-2.0
// Hostile: device call through an integer made up as a function
#include <torch/extension.h>

typedef float (*Fn)(float);
__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  Fn f = (Fn)(0x1234567 + (size_t)i);
  if (i < n) y[i] = f(x[i]);
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
