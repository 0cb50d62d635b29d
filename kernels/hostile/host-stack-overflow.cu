// SPDX-License-Identifier: Apache-2.0
// Hostile: host recursion without end
#include <torch/extension.h>

static int down(volatile int* p, int k) {
  volatile int here[256];
  here[k & 255] = *p;
  return down(&here[k & 255], k + 1) + here[0];
}
__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i] + 1.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  volatile int seed = 1;
  if (down(&seed, 0) == 42) return x_in;
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
