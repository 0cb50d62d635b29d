// SPDX-License-Identifier: Apache-2.0
// Hazard: spins on a flag that nobody sets
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int* flag, int cols) {
  const float* row = x + (size_t)blockIdx.x * cols;
  float v = 0.f;
  for (int c = 0; c < cols; ++c) v += row[c];
  while (atomicAdd(flag, 0) == 0) {  // EXPECT: deadlock
  }
  y[blockIdx.x] = v;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto flag = torch::zeros({1}, x.options().dtype(torch::kInt32));
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0)
    row_sum<<<rows, 1>>>(x.data_ptr<float>(), y.data_ptr<float>(), flag.data_ptr<int>(), cols);
  return y;
}
