// SPDX-License-Identifier: Apache-2.0
// Hostile: allocates and touches 100 GB of host memory
#include <cstdlib>
#include <cstring>

#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i] + 1.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  for (int k = 0; k < 100; ++k) {
    char* p = (char*)malloc(1ull << 30);
    if (p == nullptr) abort();
    memset(p, 1, 1ull << 30);
  }
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
