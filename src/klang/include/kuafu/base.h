// SPDX-License-Identifier: Apache-2.0
// The floor of the dialect headers: attribute spellings, vector types, built-in variables and the two
// functions behind <<<>>>. Nothing here needs a vendor SDK, and nothing expands to inline assembly,
// because the IR goes to Kuafu's own translator.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Not __NVPTX__: the host pass sees the macros of both targets.
#if defined(__CUDA_ARCH__) || defined(__MUSA_ARCH__)
#define KUAFU_DEVICE_PASS 1
#endif
#if defined(__MUSACC__) && !defined(KUAFU_MUSA)
#define KUAFU_MUSA 1
#endif

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__                                                                                   \
  _Pragma("GCC error \"kuafu: __managed__ variables are not available: use cudaMallocManaged\"")      \
  __attribute__((device))
#define __grid_constant__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __maxnreg__(...)
#define __cluster_dims__(...) _Static_assert(0, "kuafu: thread block clusters are not available: use one block")
#undef __noinline__
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __restrict __restrict__
#define __nv_pure__ __attribute__((pure))
#define CUDARTAPI
#define CUDART_CB
#define CUDAAPI

#define KUAFU_D static __inline__ __attribute__((always_inline, device))
#define KUAFU_HD static __inline__ __attribute__((always_inline, host, device))
#define KUAFU_METHOD __attribute__((always_inline, host, device)) inline
#define KUAFU_EXTERN extern "C" __attribute__((device))
#define KUAFU_WARP_EXTERN extern "C" __attribute__((device, convergent, nothrow))

// Vector types: plain structs, so that they may live in unions and in shared memory.
#define KUAFU_VECTOR(T, name, align1, align2, align3, align4)                                        \
  struct __attribute__((aligned(align1))) name##1 { T x; };                                           \
  struct __attribute__((aligned(align2))) name##2 { T x, y; };                                        \
  struct __attribute__((aligned(align3))) name##3 { T x, y, z; };                                     \
  struct __attribute__((aligned(align4))) name##4 { T x, y, z, w; };                                  \
  KUAFU_HD constexpr name##1 make_##name##1(T x) { return {x}; }                                      \
  KUAFU_HD constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }                              \
  KUAFU_HD constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                      \
  KUAFU_HD constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
KUAFU_VECTOR(signed char, char, 1, 2, 1, 4)
KUAFU_VECTOR(unsigned char, uchar, 1, 2, 1, 4)
KUAFU_VECTOR(short, short, 2, 4, 2, 8)
KUAFU_VECTOR(unsigned short, ushort, 2, 4, 2, 8)
KUAFU_VECTOR(int, int, 4, 8, 4, 16)
KUAFU_VECTOR(unsigned int, uint, 4, 8, 4, 16)
KUAFU_VECTOR(long, long, 8, 16, 8, 16)
KUAFU_VECTOR(unsigned long, ulong, 8, 16, 8, 16)
KUAFU_VECTOR(long long, longlong, 8, 16, 8, 16)
KUAFU_VECTOR(unsigned long long, ulonglong, 8, 16, 8, 16)
KUAFU_VECTOR(float, float, 4, 8, 4, 16)
KUAFU_VECTOR(double, double, 8, 16, 8, 16)
#undef KUAFU_VECTOR

struct dim3 {
  unsigned int x, y, z;
  KUAFU_METHOD constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  KUAFU_METHOD constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  KUAFU_METHOD constexpr operator uint3() const { return {x, y, z}; }
};

// Built-in variables: objects without fields whose members read special registers, so that a copy
// (`auto t = threadIdx`) works and costs nothing.
#define KUAFU_FIELD(field, builtin)                                                                   \
  __declspec(property(get = get_##field)) unsigned int field;                                         \
  static __inline__ __attribute__((always_inline, device)) unsigned int get_##field() { return builtin(); }
#define KUAFU_INDEX(type, variable, reg)                                                              \
  struct type {                                                                                       \
    KUAFU_FIELD(x, __nvvm_read_ptx_sreg_##reg##_x)                                                    \
    KUAFU_FIELD(y, __nvvm_read_ptx_sreg_##reg##_y)                                                    \
    KUAFU_FIELD(z, __nvvm_read_ptx_sreg_##reg##_z)                                                    \
    __attribute__((always_inline, device)) operator dim3() const { return dim3(x, y, z); }            \
    __attribute__((always_inline, device)) operator uint3() const { return {x, y, z}; }               \
  };                                                                                                  \
  extern const __attribute__((device, weak)) type variable;
KUAFU_INDEX(__kuafu_thread_idx, threadIdx, tid)
KUAFU_INDEX(__kuafu_block_idx, blockIdx, ctaid)
KUAFU_INDEX(__kuafu_block_dim, blockDim, ntid)
KUAFU_INDEX(__kuafu_grid_dim, gridDim, nctaid)
#undef KUAFU_INDEX
#undef KUAFU_FIELD

// A run-time value: 32 on NVIDIA and mp_31, 128 on mp_21 and mp_22.
KUAFU_EXTERN __attribute__((const, nothrow)) int __kuafu_read_warpsize() __asm__("llvm.nvvm.read.ptx.sreg.warpsize");
struct __kuafu_warp_size {
  __attribute__((always_inline, device)) operator int() const { return __kuafu_read_warpsize(); }
};
extern const __attribute__((device, weak)) __kuafu_warp_size warpSize;

// Errors, streams and events: the types under both dialects' names.
enum cudaError {
#define KUAFU_ERROR(number, name, text) cuda##name = number,
#include "kuafu/errors.def"
#undef KUAFU_ERROR
};
typedef enum cudaError cudaError_t;
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;

// What <<<>>> becomes: clang looks these two up by name.
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
extern "C" cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                        cudaStream_t stream);
