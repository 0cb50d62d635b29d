// SPDX-License-Identifier: Apache-2.0
// Hazard: works in place on its input and returns a copy (corrected twin)
#include <torch/extension.h>

__global__ void scale(float* x, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) x[i] = 2.f * x[i] + 1.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous().clone();
  const int n = (int)x.numel();
  if (n > 0) scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), n);
  return x.clone();
}
