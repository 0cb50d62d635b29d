// SPDX-License-Identifier: Apache-2.0
// Hazard: __syncwarp names only the lower half of the warp that shares the data (corrected twin)
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int cols) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  const float* row = x + (size_t)blockIdx.x * cols;
  float v = 0.f;
  for (int c = t; c < cols; c += 32) v += row[c];
  s[t] = v;
  __syncwarp();
  if (t == 0) {
    float sum = 0.f;
    for (int i = 0; i < 32; ++i) sum += s[i];
    y[blockIdx.x] = sum;
  }
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0) row_sum<<<rows, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
