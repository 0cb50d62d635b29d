// SPDX-License-Identifier: Apache-2.0
__device__ int counter;
__global__ void votes(int* out, int n) {
  int lane = threadIdx.x % warpSize;
  int v = __shfl_xor_sync(0xffffffffu, lane, 1);
  unsigned b = __ballot_sync(0xffffffffu, v > 3);
  __syncwarp();
  if (__any_sync(0xffffffffu, lane == 5)) atomicAdd(&counter, 1);
  out[threadIdx.x % 32] = __popc(b) + v + n;
  __threadfence();
  if (atomicCAS(&out[0], 1, 2) == 7) printf("%d\n", v);
}
