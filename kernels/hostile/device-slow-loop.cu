// SPDX-License-Identifier: Apache-2.0
// Hostile: device loop of 2^62 useful-looking steps
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float a = 0.f;
  for (long long k = 0; k < (1LL << 62); ++k) a = a * 0.5f + (float)(k & 3);
  if (i < n) y[i] = x[i] + a;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
