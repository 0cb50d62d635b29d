// SPDX-License-Identifier: Apache-2.0
// Hazard: double array behind an odd number of floats in shared memory (corrected twin)
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int cols) {
  extern __shared__ float s[];
  const int t = threadIdx.x;
  double* part = (double*)(s + 0);
  const float* row = x + (size_t)blockIdx.x * cols;
  double acc = 0.;
  for (int c = t; c < cols; c += 64) acc += row[c];
  part[t] = acc;
  __syncthreads();
  if (t == 0) {
    double sum = 0.;
    for (int i = 0; i < 64; ++i) sum += part[i];
    y[blockIdx.x] = (float)sum;
  }
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0)
    row_sum<<<rows, 64, 65 * sizeof(double)>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
