// SPDX-License-Identifier: Apache-2.0
// A vector load from an address that is a multiple of 4 bytes only.
#include <cuda_runtime.h>

__global__ void load(const float* x, float* y) {
  float4 v = *reinterpret_cast<const float4*>(x + 1 + 4 * threadIdx.x);  // EXPECT: misaligned
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}

int main() {
  float *x, *y;
  cudaMalloc(&x, 4096);
  cudaMalloc(&y, 128);
  cudaMemset(x, 0, 4096);
  load<<<1, 32>>>(x, y);
  cudaDeviceSynchronize();
  return 0;
}
