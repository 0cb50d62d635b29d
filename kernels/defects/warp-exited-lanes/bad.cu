// SPDX-License-Identifier: Apache-2.0
// Hazard: full-mask shuffle after some lanes of the warp have returned
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int cols, int rows) {
  const int lane = threadIdx.x % 8, r = blockIdx.x * 32 + threadIdx.x / 8;
  if (r >= rows) return;  // EXPECT-ALSO: warp_sync
  float v = 0.f;
  for (int c = lane; c < cols; c += 8) v += x[(size_t)r * cols + c];
  for (int o = 4; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o, 8);  // EXPECT: warp_sync
  if (lane == 0) y[r] = v;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0)
    row_sum<<<(rows + 31) / 32, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols, rows);
  return y;
}
