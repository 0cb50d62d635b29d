// SPDX-License-Identifier: Apache-2.0
// Hazard: shared tile has no room for its halo (corrected twin)
#include <torch/extension.h>

__global__ void stencil(const float* x, float* y, int n) {
  __shared__ float s[258];
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t + 1] = i < n ? x[i] : 0.f;
  if (t == 0) s[0] = i > 0 ? x[i - 1] : 0.f;
  if (t == 255) s[257] = i + 1 < n ? x[i + 1] : 0.f;
  __syncthreads();
  if (i < n) y[i] = 0.25f * s[t] + 0.5f * s[t + 1] + 0.25f * s[t + 2];
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int n = (int)x.numel();
  if (n > 0) stencil<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
