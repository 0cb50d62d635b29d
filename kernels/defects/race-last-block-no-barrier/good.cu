// SPDX-License-Identifier: Apache-2.0
// Hazard: all threads publish partials, one signals without a barrier first (corrected twin)
#include <torch/extension.h>

__global__ void global_sum(const float* x, float* part, int* done, float* y, int n) {
  __shared__ float s[256];
  __shared__ bool last;
  const int t = threadIdx.x;
  float acc = 0.f;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) acc += x[i];
  s[t] = acc;
  __syncthreads();
  for (int o = 128; o > 128; o >>= 1) {
    if (t < o) s[t] += s[t + o];
    __syncthreads();
  }
  part[blockIdx.x * 256 + t] = acc;
  __threadfence();
  __syncthreads();
  if (t == 0) last = atomicAdd(done, 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (t == 0) {
    float sum = 0.f;
    for (int b = 0; b < gridDim.x * 256; ++b) sum += part[b];
    *y = sum;
  }
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto part = torch::empty({1280}, x.options());
  auto done = torch::zeros({1}, x.options().dtype(torch::kInt32));
  auto y = torch::empty({}, x.options());
  global_sum<<<5, 256>>>(x.data_ptr<float>(), part.data_ptr<float>(), done.data_ptr<int>(),
                         y.data_ptr<float>(), (int)x.numel());
  return y;
}
