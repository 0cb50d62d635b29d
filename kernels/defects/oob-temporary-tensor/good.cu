// SPDX-License-Identifier: Apache-2.0
// Hazard: pointer of a temporary tensor outlives the tensor (corrected twin)
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i] + 1.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto y = torch::empty({x_in.size(0), x_in.size(1)}, x_in.options());
  const int n = (int)x_in.numel();
  auto copy = x_in.contiguous().clone();
  const float* x = copy.data_ptr<float>();
  if (n > 0) scale<<<(n + 255) / 256, 256>>>(x, y.data_ptr<float>(), n);
  return y;
}
