// SPDX-License-Identifier: Apache-2.0
// Half of the block waits at a barrier that the other half never reaches.
#include <cuda_runtime.h>

__global__ void half_block(float* x) {
  if (threadIdx.x < 48) {
    __syncthreads();  // EXPECT: barrier
    x[threadIdx.x] = 1.0f;
  }
  x[threadIdx.x + 128] = 2.0f;
}

int main() {
  float* x;
  cudaMalloc(&x, 4096);
  half_block<<<1, 128>>>(x);
  cudaDeviceSynchronize();
  return 0;
}
