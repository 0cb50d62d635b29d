// SPDX-License-Identifier: Apache-2.0
// Hazard: 60000 bytes of shared memory without opting in
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int n) {  // EXPECT: launch_invalid
  const int i = blockIdx.x * 256 + threadIdx.x;
  extern __shared__ float s[];
  s[threadIdx.x] = i < n ? x[i] : 0.f;
  if (i < n) y[i] = 2.f * s[threadIdx.x] + 1.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  const int bytes = 60000;
  if (n > 0)
    scale<<<(n + 255) / 256, 256, bytes>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);  // EXPECT-ALSO: launch_invalid
  return y;
}
