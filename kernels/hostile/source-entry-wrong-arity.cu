// SPDX-License-Identifier: Apache-2.0
// Hostile: entry takes seven tensors, the reference has one input
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i] + 1.f;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b, torch::Tensor c, torch::Tensor d,
                      torch::Tensor e, torch::Tensor f, torch::Tensor g) {
  return a;
}
