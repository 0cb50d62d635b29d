// SPDX-License-Identifier: Apache-2.0
// Hazard: threads beyond the row length leave their shared slot unwritten
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int cols) {
  __shared__ float s[256];
  const int t = threadIdx.x;
  const float* row = x + (size_t)blockIdx.x * cols;
  float acc = 0.f;
  for (int c = t; c < cols; c += 256) acc += row[c];
  if (t < cols) s[t] = acc;
  __syncthreads();
  for (int o = 128; o > 0; o >>= 1) {
    if (t < o) s[t] += s[t + o];  // EXPECT: uninit
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0) row_sum<<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
