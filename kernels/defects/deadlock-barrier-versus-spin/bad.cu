// SPDX-License-Identifier: Apache-2.0
// Hazard: one thread spins for threads that wait for it at a barrier
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* y, int* flag, int cols) {
  const float* row = x + (size_t)blockIdx.x * cols;
  __shared__ float s[64];
  __shared__ int ready;
  const int t = threadIdx.x;
  float v = 0.f;
  for (int c = t; c < cols; c += 64) v += row[c];
  s[t] = v;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t == 0)
    while (atomicAdd(&ready, 0) < 63) {  // EXPECT: deadlock
    }
  __syncthreads();  // EXPECT-ALSO: deadlock
  atomicAdd(&ready, 1);
  if (t == 0) {
    float sum = 0.f;
    for (int i = 0; i < 64; ++i) sum += s[i];
    y[blockIdx.x] = sum + (flag[0] & 0);
  }
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto flag = torch::zeros({1}, x.options().dtype(torch::kInt32));
  auto y = torch::empty({x.size(0)}, x.options());
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0)
    row_sum<<<rows, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), flag.data_ptr<int>(), cols);
  return y;
}
