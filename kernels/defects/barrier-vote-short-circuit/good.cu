// SPDX-License-Identifier: Apache-2.0
// Hazard: __syncthreads_or behind a short-circuit condition (corrected twin)
#include <torch/extension.h>

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float v = i < n ? x[i] : 0.f;
  const bool negative = __syncthreads_or(v < 0.f);
  if (i < n) y[i] = negative && v < 0.f ? 0.f : v;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) relu<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
