// SPDX-License-Identifier: Apache-2.0
// Hazard: int4 access to a shared buffer at an offset of one word
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int cols) {
  __shared__ __align__(16) float s[1028];
  const int t = threadIdx.x;
  const float* row = x + (size_t)blockIdx.x * cols;
  float acc = 0.f;
  for (int c = t; c < cols; c += 256) acc += row[c];
  float* p = s + 1;
  *(int4*)(p + t * 4) = make_int4(__float_as_int(acc), 0, 0, 0);  // EXPECT: misaligned
  __syncthreads();
  if (t == 0) {
    float sum = 0.f;
    for (int i = 0; i < 256; ++i) sum += p[i * 4];
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
