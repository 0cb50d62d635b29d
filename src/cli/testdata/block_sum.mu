// SPDX-License-Identifier: Apache-2.0
// TARGET: sim:mtt-s4000
// A block reduction in shared memory with a warp-width-generic last step, in the MUSA dialect.
#include <musa_runtime.h>
#include <vector>

__global__ void sum(const float* x, float* y, int n) {
  __shared__ float part[32];
  float v = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) v += x[i];
  for (int d = warpSize / 2; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int w = 0; w < blockDim.x / warpSize; ++w) total += part[w];
    *y = total;
  }
}

int main() {
  const int n = 777;
  std::vector<float> x(n, 1.0f);
  float *dx, *dy, y = 0.0f;
  musaMalloc(&dx, n * sizeof(float));
  musaMalloc(&dy, sizeof(float));
  musaMemcpy(dx, x.data(), n * sizeof(float), musaMemcpyHostToDevice);
  sum<<<1, 256>>>(dx, dy, n);
  musaMemcpy(&y, dy, sizeof(float), musaMemcpyDeviceToHost);
  return y == 777.0f ? 0 : 1;
}
