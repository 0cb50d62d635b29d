// SPDX-License-Identifier: Apache-2.0
// Hazard: blocks add to one output without an atomic
#include <torch/extension.h>

__global__ void col_sum(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * 64 + threadIdx.x;
  if (c >= cols) return;
  float acc = 0.f;
  for (int r = blockIdx.y * 16; r < min(rows, (int)blockIdx.y * 16 + 16); ++r)
    acc += x[(size_t)r * cols + c];
  y[c] += acc;  // EXPECT: race
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  auto y = torch::zeros({cols}, x.options());
  dim3 grid((cols + 63) / 64, (rows + 15) / 16);
  if (rows > 0 && cols > 0)
    col_sum<<<grid, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
  return y;
}
