// SPDX-License-Identifier: Apache-2.0
__constant__ float weights[4] = {1, 2, 3, 4};
__global__ void total(const float* x, float* y, int n) {
  __shared__ float scratch[64];
  extern __shared__ float more[];
  scratch[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] * weights[threadIdx.x & 3] : 0.0f;
  __syncthreads();
  for (int half = 16; half > 0; half /= 2) {
    if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) more[0] = expf(scratch[0]), y[0] = more[0];
}
