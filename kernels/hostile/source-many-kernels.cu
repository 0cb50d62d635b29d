// SPDX-License-Identifier: Apache-2.0
// Hostile: two thousand kernels
#include <torch/extension.h>

template <int N>
__global__ void many(float* p) {
  p[threadIdx.x] = N;
}
#define ONE(n) template __global__ void many<n>(float*);
#define TEN(n) \
  ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) \
  ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) \
  TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) \
  TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
#define THOUSAND(n) \
  HUNDRED(n##0) HUNDRED(n##1) HUNDRED(n##2) HUNDRED(n##3) HUNDRED(n##4) \
  HUNDRED(n##5) HUNDRED(n##6) HUNDRED(n##7) HUNDRED(n##8) HUNDRED(n##9)
THOUSAND(1)
THOUSAND(2)
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
