// SPDX-License-Identifier: Apache-2.0
// Hazard: guard returns some threads of a warp before the block barrier
#include <torch/extension.h>

__global__ void stencil(const float* x, float* y, int n) {
  __shared__ float s[256];
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  if (i >= n) return;  // EXPECT: barrier
  s[t] = i < n ? x[i] : 0.f;
  __syncthreads();  // EXPECT-ALSO: barrier
  if (i < n) {
    const float left = t > 0 ? s[t - 1] : i > 0 ? x[i - 1] : 0.f;
    const float right = i + 1 == n ? 0.f : t < 255 ? s[t + 1] : x[i + 1];
    y[i] = 0.25f * left + 0.5f * s[t] + 0.25f * right;
  }
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) stencil<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
