// SPDX-License-Identifier: Apache-2.0
// Hazard: in-place Hillis-Steele step without a barrier between read and write (corrected twin)
#include <torch/extension.h>

__global__ void scan(const float* x, float* y, int cols) {
  __shared__ float s[256];
  __shared__ float carry;
  const int t = threadIdx.x;
  const size_t base = (size_t)blockIdx.x * cols;
  if (t == 0) carry = 0.f;
  for (int c = 0; c < cols; c += 256) {
    s[t] = c + t < cols ? x[base + c + t] : 0.f;
    __syncthreads();
    for (int o = 1; o < 256; o <<= 1) {
      const float v = t >= o ? s[t - o] : 0.f;
      __syncthreads();
      s[t] += v;
      __syncthreads();
    }
    const float out = carry + s[t];
    if (c + t < cols) y[base + c + t] = out;
    __syncthreads();
    if (t == 0) carry += s[255];
    __syncthreads();
  }
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0) scan<<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
