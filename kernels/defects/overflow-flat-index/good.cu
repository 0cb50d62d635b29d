// SPDX-License-Identifier: Apache-2.0
// Hazard: flat index over a padded row pitch overflows int (corrected twin)
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int cols) {
  const int pitch = 1 << 28;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const long long flat = (long long)blockIdx.x * pitch + c;
    const int r = (int)(flat >> 28), k = (int)(flat & (pitch - 1));
    y[r * cols + k] = 2.f * x[r * cols + k] + 1.f;
  }
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0) scale<<<rows, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
