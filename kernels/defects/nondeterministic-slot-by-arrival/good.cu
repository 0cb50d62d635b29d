// SPDX-License-Identifier: Apache-2.0
// Hazard: partial sums stored and added in order of arrival (corrected twin)
#include <torch/extension.h>

__global__ void partial(const float* x, float* part, int* next, int n) {
  float acc = 0.f;
  for (int i = blockIdx.x; i < n; i += gridDim.x) acc += x[i];
  const int slot = blockIdx.x;
  part[slot] = acc;
}
__global__ void final(const float* part, float* y) {
  float acc = 0.f;
  for (int i = 0; i < 61; ++i) acc += part[i];
  *y = acc;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto part = torch::empty({61}, x.options());
  auto next = torch::zeros({1}, x.options().dtype(torch::kInt32));
  auto y = torch::empty({}, x.options());
  const int n = (int)x.numel();
  partial<<<61, 1>>>(x.data_ptr<float>(), part.data_ptr<float>(), next.data_ptr<int>(), n);
  final<<<1, 1>>>(part.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
