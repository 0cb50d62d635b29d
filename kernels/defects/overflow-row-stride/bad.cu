// SPDX-License-Identifier: Apache-2.0
// Hazard: row index times a padded 32-bit stride wraps
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int cols, int stride, int pitch) {
  const int r = blockIdx.x;
  const int base = r * stride;  // EXPECT: index_overflow
  const float* row = x + base / pitch * cols;  // EXPECT-ALSO: index_overflow
  float acc = 0.f;
  for (int c = 0; c < cols; ++c) acc += row[c];  // EXPECT-ALSO: index_overflow
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
