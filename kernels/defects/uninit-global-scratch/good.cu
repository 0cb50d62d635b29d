// SPDX-License-Identifier: Apache-2.0
// Hazard: one partial sum too many is read (corrected twin)
#include <torch/extension.h>

__global__ void partial(const float* x, float* part, int n) {
  const int t = blockIdx.x * 64 + threadIdx.x;
  float acc = 0.f;
  for (int i = t; i < n; i += gridDim.x * 64) acc += x[i];
  part[t] = acc;
}
__global__ void final(const float* part, float* y) {
  float acc = 0.f;
  for (int i = 0; i < 256; ++i) acc += part[i];
  *y = acc;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto part = torch::empty({512}, x.options());
  auto y = torch::empty({}, x.options());
  partial<<<4, 64>>>(x.data_ptr<float>(), part.data_ptr<float>(), (int)x.numel());
  final<<<1, 1>>>(part.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
