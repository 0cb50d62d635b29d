// SPDX-License-Identifier: Apache-2.0
// nvcc
// Habits of real kernels: mixed min and max, hints, bits, math, atomics, printf and assert.
#include <cuda_runtime.h>
#include <math_constants.h>
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <limits>
__constant__ float table[16];
__device__ unsigned counter;
extern __shared__ float dynamic_shared[];
union Pack { float4 v; float f[4]; };
__forceinline__ __device__ float helper(float a) { return a * 2.0f; }
__global__ void __launch_bounds__(256, 2) k(const float4* __restrict__ in, float4* out, int n, unsigned u, double* d, unsigned long long* ll) {
  __shared__ Pack packs[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  i = min(i, n); u = max(u, 3u); float f = fminf(1.0f, u) + max(0.5f, 1.0f) + std::max(1.0f, 2.0f);
  Pack p; p.v = __ldg(&in[i]); packs[threadIdx.x & 31] = p;
  __syncthreads();
  f += p.f[0] + expf(p.f[1]) + std::exp(p.f[2]) + exp(1.0) + __expf(f) + rsqrtf(f) + sqrtf(f) + powf(f, 2.0f) + tanhf(f) + erff(f) + logf(f);
  f += CUDART_INF_F + INFINITY - FLT_MAX + std::numeric_limits<float>::lowest() + __fdividef(f, 3.0f) + __frcp_rn(f) + __fmaf_rn(f, f, f) + __fadd_rz(f, f);
  f += abs(f) + std::abs(f) + floor(f) + isnan(f) + isfinite(f) + fmod(f, 2.0f) + pow(f, 2) + round(f) + helper(f) + table[i & 15];
  i += __popc(u) + __clz(i) + __ffs(i) + __brev(u) + __byte_perm(u, u, 0x3210) + __funnelshift_l(u, u, 3) + __umulhi(u, u) + __dp4a(i, i, i) + __float_as_int(f);
  float s, c; sincosf(f, &s, &c); f += s + c + __float2int_rn(f) + __int2float_rn(i);
  atomicAdd(&counter, 1u); atomicAdd(&out->x, f); atomicAdd(d, 1.0); atomicMax((int*)&counter, i); atomicCAS(ll, 0ull, 1ull); atomicExch(&out->y, f); atomicAdd_block(&counter, 1u); atomicInc(&counter, 7u);
  for (int o = 16; o > 0; o >>= 1) { f += __shfl_xor_sync(0xffffffff, f, o); *d += __shfl_down_sync(0xffffffffu, *d, o); }
  unsigned b = __ballot_sync(__activemask(), f > 0); if (__any_sync(~0u, b)) __syncwarp();
  i += __syncthreads_count(i) + __syncthreads_or(i); __threadfence(); __threadfence_block();
  if (i == 12345) { printf("%d %f\n", i, f); assert(f > 0); __trap(); }
  dynamic_shared[threadIdx.x] = f; dim3 t = threadIdx; 
  __stcs(&out[i], make_float4(f, warpSize, clock64() & 1, t.x)); __stcg(&out[i].x, __ldcs(&in[i].x));
}
void host(float* p) {
  k<<<dim3(1), 256, 1024>>>((float4*)p, (float4*)p, 1, 2, nullptr, nullptr);
  float h[16] = {}; cudaMemcpyToSymbol(table, h, sizeof h); float* q; cudaMalloc(&q, 16); int blocks;
  cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 256, 0); cudaDeviceProp prop; cudaGetDeviceProperties(&prop, 0);
  cudaStream_t s; cudaStreamCreate(&s); cudaMemcpyAsync(q, h, 16, cudaMemcpyHostToDevice, s);
  if (cudaGetLastError() != cudaSuccess) printf("%s %d\n", cudaGetErrorString(cudaGetLastError()), prop.warpSize);
}
