// SPDX-License-Identifier: Apache-2.0
// Hazard: row index times a padded 32-bit stride wraps (corrected twin)
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int cols, int stride, int pitch) {
  const int r = blockIdx.x;
  const long long base = (long long)r * stride;
  const float* row = x + base / pitch * cols;
  float acc = 0.f;
  for (int c = 0; c < cols; ++c) acc += row[c];
  y[r] = acc;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0) row_sum<<<rows, 1>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols, 900000000,
                                         900000000);
  return y;
}
