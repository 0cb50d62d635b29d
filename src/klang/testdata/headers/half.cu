// SPDX-License-Identifier: Apache-2.0
// nvcc
// half and bfloat16: operators, intrinsics, unions, shared memory, atomics.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
union Eight { uint4 raw; __half2 h[4]; };
__global__ void k(__half* x, __half2* y, __nv_bfloat16* b, __nv_bfloat162* b2, float* f) {
  __shared__ __half tile[64]; __shared__ Eight eight;
  tile[threadIdx.x] = x[0]; eight.h[0] = y[0];
  __half a = __float2half(1.0f), c = a + x[1] * a;
  c = __hfma(a, c, __hadd(a, __hmul(a, c))); if (__hlt(a, c) || a > c) c = hexp(c);
  y[0] = __hfma2(y[0], __float2half2_rn(2.0f), __halves2half2(a, c)); y[1] = __floats2half2_rn(1.0f, f[0]); y[2] = h2exp(y[1]) + y[0];
  f[0] = __half2float(c) + __low2float(y[0]) + __half22float2(y[1]).x + float(c) + __half2float(__hmax(a, c));
  b[0] = __float2bfloat16(f[0]) + b[1]; f[1] = __bfloat162float(__hmul(b[0], b[1])); b2[0] = __hadd2(b2[0], __floats2bfloat162_rn(1.0f, 2.0f));
  atomicAdd(x, a); atomicAdd(y, y[1]); atomicAdd(b, b[1]); x[2] = __shfl_xor_sync(0xffffffff, a, 1);
  f[2] = __half2float(__ldg(x)) + __half2int_rn(a) + __half_as_ushort(a);
}
float host(float v) { return __half2float(__float2half(v)) + __bfloat162float(__float2bfloat16(v)); }
