// SPDX-License-Identifier: Apache-2.0
// Hazard: block maximum still being read when the block sum reuses the scratch (corrected twin)
#include <torch/extension.h>

__device__ float block_max(float v, float* s) {
  const int t = threadIdx.x;
  s[t] = v;
  __syncthreads();
  for (int o = 128; o > 0; o >>= 1) {
    if (t < o) s[t] = s[t] != s[t] || s[t] > s[t + o] ? s[t] : s[t + o];
    __syncthreads();
  }
  return s[0];
}
__device__ float block_sum(float v, float* s) {
  const int t = threadIdx.x;
  s[t] = v;
  __syncthreads();
  for (int o = 128; o > 0; o >>= 1) {
    if (t < o) s[t] += s[t + o];
    __syncthreads();
  }
  return s[0];
}
__global__ void softmax(const float* x, float* y, int cols) {
  __shared__ float s[256];
  const float* row = x + (size_t)blockIdx.x * cols;
  float top = -INFINITY;
  for (int c = threadIdx.x; c < cols; c += 256)
    if (row[c] > top || row[c] != row[c]) top = row[c];
  top = block_max(top, s);
  __syncthreads();
  float sum = 0.f;
  for (int c = threadIdx.x; c < cols; c += 256) sum += expf(row[c] - top);
  sum = block_sum(sum, s);
  for (int c = threadIdx.x; c < cols; c += 256)
    y[(size_t)blockIdx.x * cols + c] = expf(row[c] - top) / sum;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0) softmax<<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
