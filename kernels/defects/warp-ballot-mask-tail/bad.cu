// SPDX-License-Identifier: Apache-2.0
// Hazard: shuffle-down under a ballot mask reads lanes outside the mask
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int cols) {
  const int t = threadIdx.x;
  const float* row = x + (size_t)blockIdx.x * cols;
  float v = 0.f;
  for (int c = 0; c < cols; c += 32) {
    const unsigned mask = __ballot_sync(0xffffffffu, c + t < cols);
    float w = c + t < cols ? row[c + t] : 0.f;
    if (c + t < cols)
    for (int o = 16; o > 0; o >>= 1)
      w += __shfl_down_sync(mask, w, o);  // EXPECT: warp_sync
    if (t == 0) v += w + (mask ? 0.f : 1.f);
  }
  if (t == 0) y[blockIdx.x] = v;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0) row_sum<<<rows, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
