// SPDX-License-Identifier: Apache-2.0
// Hazard: start index adds blockDim and blockIdx where it has to multiply (corrected twin)
#include <torch/extension.h>

__global__ void partial(const float* x, float* part, int n) {
  float acc = 0.f;
  for (int i = threadIdx.x + blockDim.x * blockIdx.x; i < n; i += gridDim.x * blockDim.x) acc += x[i];
  part[blockIdx.x * 64 + threadIdx.x] = acc;
}
__global__ void final(const float* part, float* y) {
  float acc = 0.f;
  for (int i = 0; i < 256; ++i) acc += part[i];
  *y = acc;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto part = torch::empty({256}, x.options());
  auto y = torch::empty({}, x.options());
  partial<<<4, 64>>>(x.data_ptr<float>(), part.data_ptr<float>(), (int)x.numel());
  final<<<1, 1>>>(part.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
