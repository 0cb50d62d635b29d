// SPDX-License-Identifier: Apache-2.0
// Hostile: device malloc without end
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  char* p = nullptr;
  for (int k = 0; k < 1000000; ++k) {
    p = (char*)malloc(1 << 20);
    p[0] = 1;
  }
  if (i < n) y[i] = x[i] + p[0];
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
