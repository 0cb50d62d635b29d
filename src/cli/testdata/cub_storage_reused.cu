// SPDX-License-Identifier: Apache-2.0
// The TempStorage of a reduction used again without a barrier in between.
#include <cuda_runtime.h>
#include <cub/block/block_reduce.cuh>

__global__ void two_sums(const float* x, float* y) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage temp;
  float a = Reduce(temp).Sum(x[threadIdx.x]);  // EXPECT: race
  float b = Reduce(temp).Sum(x[threadIdx.x] * 2);  // EXPECT: race
  if (threadIdx.x == 0) y[0] = a + b;
}

int main() {
  float *x, *y;
  cudaMalloc(&x, 128 * sizeof(float));
  cudaMalloc(&y, sizeof(float));
  cudaMemset(x, 0, 128 * sizeof(float));
  two_sums<<<1, 128>>>(x, y);
  return cudaDeviceSynchronize() != cudaSuccess;
}
