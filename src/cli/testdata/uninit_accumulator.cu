// SPDX-License-Identifier: Apache-2.0
// Adds to an output that nobody has set.
#include <cuda_runtime.h>

__global__ void accumulate(const float* x, float* y) {
  y[threadIdx.x] += x[threadIdx.x];  // EXPECT: uninit
}

int main() {
  float *x, *y;
  cudaMalloc(&x, 256);
  cudaMalloc(&y, 256);
  cudaMemset(x, 0, 256);
  accumulate<<<1, 64>>>(x, y);
  cudaDeviceSynchronize();
  return 0;
}
