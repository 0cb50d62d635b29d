// SPDX-License-Identifier: Apache-2.0
// The grid covers 1024 threads, the array holds 1000 elements, and nobody looks.
#include <cuda_runtime.h>

__global__ void scale(float* x, float s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = x[i] * s;  // EXPECT: oob
}

int main() {
  float* x;
  cudaMalloc(&x, 4000);
  cudaMemset(x, 0, 4000);
  scale<<<4, 256>>>(x, 2.0f);
  cudaDeviceSynchronize();
  return 0;
}
