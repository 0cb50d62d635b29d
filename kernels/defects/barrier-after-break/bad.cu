// SPDX-License-Identifier: Apache-2.0
// Hazard: threads leave the loop at different times, then meet a second barrier
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int cols) {
  __shared__ float s[256];
  const int t = threadIdx.x;
  const float* row = x + (size_t)blockIdx.x * cols;
  float acc = 0.f;
  for (int c = 0; c < cols; c += 256) {
    if (c + t >= cols) break;
    s[t] = c + t < cols ? row[c + t] : 0.f;
    __syncthreads();  // EXPECT: barrier
    acc += s[t];
  }
  s[t] = acc;
  __syncthreads();  // EXPECT-ALSO: barrier
  for (int o = 128; o > 0; o >>= 1) {
    if (t < o) s[t] += s[t + o];
    __syncthreads();  // EXPECT-ALSO: barrier
  }
  if (t == 0) y[blockIdx.x] = s[0];
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0) row_sum<<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
