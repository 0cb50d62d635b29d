// SPDX-License-Identifier: Apache-2.0
// Hazard: integer division where the reference divides as floats (corrected twin)
#include <torch/extension.h>

__global__ void halve(const int* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] / 2.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  const int n = (int)x.numel();
  auto y = torch::empty({n}, x.options().dtype(torch::kFloat32));
  if (n > 0) halve<<<(n + 255) / 256, 256>>>(x.data_ptr<int>(), y.data_ptr<float>(), n);
  return y;
}
