// SPDX-License-Identifier: Apache-2.0
// Correct use of shuffles, atomics, dynamic shared memory, constant memory and a template.
#include <cuda_runtime.h>
#include <vector>

__constant__ float weights[4];

template <typename T>
__device__ T warp_sum(T v) {
  for (int d = warpSize / 2; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  return v;
}

__global__ void weighted(const float* x, float* total, int* count, int n) {
  extern __shared__ float scratch[];
  float v = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i] * weights[i % 4];
  v = warp_sum(v);
  if (threadIdx.x % warpSize == 0) scratch[threadIdx.x / warpSize] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0.0f;
    for (int w = 0; w < blockDim.x / warpSize; ++w) sum += scratch[w];
    atomicAdd(total, sum);
    atomicAdd(count, 1);
  }
}

int main() {
  const int n = 4096;
  const float w[4] = {1, 2, 3, 4};
  std::vector<float> x(n, 1.0f);
  float *dx, *total, result = 0.0f;
  int *count, blocks = 0;
  cudaMalloc(&dx, n * sizeof(float));
  cudaMalloc(&total, sizeof(float));
  cudaMalloc(&count, sizeof(int));
  cudaMemset(total, 0, sizeof(float));
  cudaMemset(count, 0, sizeof(int));
  cudaMemcpyToSymbol(weights, w, sizeof w);
  cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  weighted<<<5, 128, 8 * sizeof(float)>>>(dx, total, count, n);
  cudaMemcpy(&result, total, sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(&blocks, count, sizeof(int), cudaMemcpyDeviceToHost);
  return result == 10240.0f && blocks == 5 ? 0 : 1;
}
