// SPDX-License-Identifier: Apache-2.0
// Each thread reads its neighbour's element of a shared tile with no barrier between.
#include <cuda_runtime.h>

__global__ void shift(const float* x, float* y) {
  __shared__ float tile[256];
  tile[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = tile[(threadIdx.x + 1) % 256];  // EXPECT: race
}

int main() {
  float *x, *y;
  cudaMalloc(&x, 1024);
  cudaMalloc(&y, 1024);
  cudaMemset(x, 0, 1024);
  shift<<<1, 256>>>(x, y);
  return cudaDeviceSynchronize();
}
