// SPDX-License-Identifier: Apache-2.0
// Hazard: block-sum helper with a barrier inside if (threadIdx.x < 32)
#include <torch/extension.h>

__device__ float block_sum(float v, float* s) {
  const int t = threadIdx.x;
  s[t] = v;
  __syncthreads();
  if (t < 32) {
    float w = 0.f;
    for (int i = t; i < 256; i += 32) w += s[i];
    __syncthreads();  // EXPECT: barrier
    s[t] = w;
  }
  __syncthreads();  // EXPECT-ALSO: barrier
  float sum = 0.f;
  for (int i = 0; i < 32; ++i) sum += s[i];
  return sum;
}
__global__ void row_sum(const float* x, float* y, int cols) {
  __shared__ float s[256];
  const float* row = x + (size_t)blockIdx.x * cols;
  float acc = 0.f;
  for (int c = threadIdx.x; c < cols; c += 256) acc += row[c];
  acc = block_sum(acc, s);
  if (threadIdx.x == 0) y[blockIdx.x] = acc;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0) row_sum<<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
