// SPDX-License-Identifier: Apache-2.0
// Hazard: one thread zeroes the shared sum, no barrier before the others add
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int cols) {
  __shared__ float total;
  const int t = threadIdx.x;
  const float* row = x + (size_t)blockIdx.x * cols;
  if (t == 0) total = 0.f;  // EXPECT: race
  float acc = 0.f;
  for (int c = t; c < cols; c += 256) acc += row[c];
  atomicAdd(&total, acc);  // EXPECT-ALSO: race
  __syncthreads();
  if (t == 0) y[blockIdx.x] = total;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0) row_sum<<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
