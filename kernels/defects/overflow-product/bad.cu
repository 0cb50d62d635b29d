// SPDX-License-Identifier: Apache-2.0
// Hazard: int product of a virtual stride wraps
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n, int a, int b) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const int at = i * a * b;  // EXPECT: index_overflow
  y[i] = 2.f * x[at / a / b] + 1.f;  // EXPECT-ALSO: index_overflow
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n,
                                           100003, 50021);
  return y;
}
