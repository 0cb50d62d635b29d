// SPDX-License-Identifier: Apache-2.0
// Hazard: barrier in a grid-stride loop that some threads have left
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n) {
  __shared__ float s[256];
  const int t = threadIdx.x;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) {
    s[t] = x[i];
    __syncthreads();  // EXPECT: barrier
    y[i] = 2.f * s[t] + 1.f;
  }
}  // EXPECT-ALSO: barrier

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  scale<<<4, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel());
  return y;
}
