// SPDX-License-Identifier: Apache-2.0
// Hostile: constexpr loop without end
#include <torch/extension.h>

constexpr long long spin() {
  long long s = 0;
  for (long long i = 0; i >= 0; ++i) s ^= i;
  return s;
}
constexpr long long kSpin = spin();
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
