// SPDX-License-Identifier: Apache-2.0
// Hazard: warp index by >> 5 and lane by & 31 (corrected twin)
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int cols) {
  __shared__ float s[8];
  const int t = threadIdx.x;
  const float* row = x + (size_t)blockIdx.x * cols;
  float v = 0.f;
  for (int c = t; c < cols; c += 256) v += row[c];
  for (int o = warpSize / 2; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
  const int lane = t % warpSize, w = t / warpSize;
  if (lane == 0) s[w] = v;
  __syncthreads();
  if (t == 0) {
    float sum = 0.f;
    for (int i = 0; i < 256 / warpSize; ++i) sum += s[i];
    y[blockIdx.x] = sum;
  }
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0) row_sum<<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
