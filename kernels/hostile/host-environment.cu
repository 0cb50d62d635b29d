// SPDX-License-Identifier: Apache-2.0
// Hostile: empties the environment and changes directory; the result is right
#include <cstdlib>
#include <unistd.h>

#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i] + 1.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  clearenv();
  if (chdir("/") != 0) clearenv();  // refused or not, the result must be right
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
