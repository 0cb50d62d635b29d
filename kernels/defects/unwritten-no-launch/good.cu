// SPDX-License-Identifier: Apache-2.0
// Hazard: launch skipped for sizes that are not a multiple of 256 (corrected twin)
#include <torch/extension.h>

__global__ void add(const float* a, const float* b, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

torch::Tensor forward(torch::Tensor a_in, torch::Tensor b_in) {
  auto a = a_in.contiguous(), b = b_in.contiguous();
  auto y = torch::empty_like(a);
  const int n = (int)a.numel();
  if (n > 0)
    add<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
