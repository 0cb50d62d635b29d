// SPDX-License-Identifier: Apache-2.0
// Integer intrinsics, bit casts, cached loads, barriers, fences, clocks, printf and assert. Functions
// named __kuafu_* are external: the translator turns each into one instruction.
#pragma once

#include "kuafu/base.h"
#include "kuafu/math.h"
#include <assert.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
__device__ int vprintf(const char*, const char*);
__device__ void free(void*) __attribute__((nothrow));
__device__ void* malloc(size_t) __attribute__((nothrow, malloc));
__device__ void __assertfail(const char* message, const char* file, unsigned line, const char* function,
                             size_t char_size) __attribute__((nothrow));
__device__ static inline void __assert_fail(const char* message, const char* file, unsigned line,
                                            const char* function) {
  __assertfail(message, file, line, function, sizeof(char));
}
__device__ int printf(const char*, ...);
// Overloads by target of what <string.h> declares for the host; <cstring> imports both into std.
__device__ static inline void* memcpy(void* to, const void* from, size_t bytes) {
  return __builtin_memcpy(to, from, bytes);
}
__device__ static inline void* memmove(void* to, const void* from, size_t bytes) {
  return __builtin_memmove(to, from, bytes);
}
__device__ static inline void* memset(void* to, int value, size_t bytes) {
  return __builtin_memset(to, value, bytes);
}
__device__ static inline int memcmp(const void* left, const void* right, size_t bytes) {
  const unsigned char *a = (const unsigned char*)left, *b = (const unsigned char*)right;
  for (size_t i = 0; i < bytes; ++i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}
__device__ static inline size_t strlen(const char* text) {
  size_t n = 0;
  while (text[n] != 0) ++n;
  return n;
}
}
__device__ inline void* operator new(size_t, void* place) noexcept { return place; }
__device__ inline void* operator new[](size_t, void* place) noexcept { return place; }
__device__ inline void operator delete(void*, void*) noexcept {}
__device__ inline void operator delete[](void*, void*) noexcept {}
KUAFU_EXTERN __attribute__((noreturn, nothrow)) void __kuafu_trap();
KUAFU_EXTERN long long __kuafu_clock64();
KUAFU_EXTERN void __kuafu_nanosleep(unsigned ns);
KUAFU_D void __trap() { __kuafu_trap(); }
KUAFU_D void __brkpt() {}
KUAFU_D long long clock64() { return __kuafu_clock64(); }
KUAFU_D int clock() { return (int)__kuafu_clock64(); }
KUAFU_D void __nanosleep(unsigned ns) { __kuafu_nanosleep(ns); }
KUAFU_D unsigned long long __globaltimer() { return (unsigned long long)__kuafu_clock64(); }

// Barriers and fences; __syncthreads itself is a compiler builtin.
KUAFU_D int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
KUAFU_D int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
KUAFU_D int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
KUAFU_D void __threadfence_block() { __nvvm_membar_cta(); }
KUAFU_D void __threadfence() { __nvvm_membar_gl(); }
KUAFU_D void __threadfence_system() { __nvvm_membar_sys(); }
KUAFU_D unsigned __laneid() { return __nvvm_read_ptx_sreg_laneid(); }
#ifdef KUAFU_MUSA
KUAFU_D void __syncthreads_lm() { __syncthreads(); }
#endif

#define KUAFU_BITS(name, From, To)                                                                    \
  KUAFU_HD To name(From a) {                                                                          \
    To r;                                                                                             \
    __builtin_memcpy(&r, &a, sizeof r);                                                               \
    return r;                                                                                         \
  }
KUAFU_BITS(__float_as_int, float, int)
KUAFU_BITS(__float_as_uint, float, unsigned)
KUAFU_BITS(__int_as_float, int, float)
KUAFU_BITS(__uint_as_float, unsigned, float)
KUAFU_BITS(__double_as_longlong, double, long long)
KUAFU_BITS(__longlong_as_double, long long, double)
KUAFU_BITS(__kuafu_double_bits, double, unsigned long long)
#undef KUAFU_BITS
KUAFU_HD int __double2hiint(double a) { return (int)(__kuafu_double_bits(a) >> 32); }
KUAFU_HD int __double2loint(double a) { return (int)__kuafu_double_bits(a); }
KUAFU_HD double __hiloint2double(int hi, int lo) {
  return __longlong_as_double((long long)(((unsigned long long)(unsigned)hi << 32) | (unsigned)lo));
}

KUAFU_HD int __popc(unsigned a) { return __builtin_popcount(a); }
KUAFU_HD int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
KUAFU_HD int __clz(int a) { return a == 0 ? 32 : __builtin_clz((unsigned)a); }
KUAFU_HD int __clzll(long long a) { return a == 0 ? 64 : __builtin_clzll((unsigned long long)a); }
KUAFU_HD int __ffs(int a) { return __builtin_ffs(a); }
KUAFU_HD int __ffsll(long long a) { return __builtin_ffsll(a); }
KUAFU_HD unsigned __brev(unsigned a) { return __builtin_bitreverse32(a); }
KUAFU_HD unsigned long long __brevll(unsigned long long a) { return __builtin_bitreverse64(a); }
KUAFU_HD int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
KUAFU_HD unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
KUAFU_HD int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
KUAFU_HD unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
KUAFU_HD unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  unsigned long long al = (unsigned)a, ah = a >> 32, bl = (unsigned)b, bh = b >> 32;
  unsigned long long middle = ah * bl + (al * bl >> 32), low = al * bh + (unsigned)middle;
  return ah * bh + (middle >> 32) + (low >> 32);
}
KUAFU_HD long long __mul64hi(long long a, long long b) {
  unsigned long long r = __umul64hi((unsigned long long)a, (unsigned long long)b);
  return (long long)(r - (a < 0 ? (unsigned long long)b : 0) - (b < 0 ? (unsigned long long)a : 0));
}
KUAFU_HD int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
KUAFU_HD int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
KUAFU_HD unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
KUAFU_HD unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
KUAFU_HD unsigned __sad(int a, int b, unsigned c) { return c + (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a); }
KUAFU_HD unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }
KUAFU_EXTERN unsigned __kuafu_byte_perm(unsigned, unsigned, unsigned);
KUAFU_D unsigned __byte_perm(unsigned a, unsigned b, unsigned s) { return __kuafu_byte_perm(a, b, s); }
KUAFU_HD unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
  return (unsigned)(((((unsigned long long)hi << 32) | lo) << (s & 31)) >> 32);
}
KUAFU_HD unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
  return (unsigned)((((unsigned long long)hi << 32) | lo) >> (s & 31));
}
KUAFU_HD unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned s) {
  return s >= 32 ? lo : __funnelshift_l(lo, hi, s);
}
KUAFU_HD unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned s) {
  return s >= 32 ? hi : __funnelshift_r(lo, hi, s);
}
KUAFU_HD int __kuafu_byte(int a, int i) { return (signed char)(a >> (8 * i)); }
KUAFU_HD unsigned __kuafu_ubyte(unsigned a, int i) { return (a >> (8 * i)) & 255u; }
KUAFU_HD int __dp4a(int a, int b, int c) {
  return c + __kuafu_byte(a, 0) * __kuafu_byte(b, 0) + __kuafu_byte(a, 1) * __kuafu_byte(b, 1) +
         __kuafu_byte(a, 2) * __kuafu_byte(b, 2) + __kuafu_byte(a, 3) * __kuafu_byte(b, 3);
}
KUAFU_HD unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return c + __kuafu_ubyte(a, 0) * __kuafu_ubyte(b, 0) + __kuafu_ubyte(a, 1) * __kuafu_ubyte(b, 1) +
         __kuafu_ubyte(a, 2) * __kuafu_ubyte(b, 2) + __kuafu_ubyte(a, 3) * __kuafu_ubyte(b, 3);
}
KUAFU_HD int __dp4a(char4 a, char4 b, int c) { return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

// Loads and stores with cache hints: the hint changes no result. A vector goes through one wide access,
// so that the simulator sees the width the source asked for.
typedef unsigned __kuafu_u2 __attribute__((ext_vector_type(2)));
typedef unsigned __kuafu_u4 __attribute__((ext_vector_type(4)));
template <class T> KUAFU_METHOD T __kuafu_load(const T* p) {
  static_assert(sizeof(T) <= 32, "kuafu: a cached load takes a scalar or a vector type");
  if constexpr (__is_scalar(T) || sizeof(T) == 1 || alignof(T) < sizeof(T)) {
    return *p;
  } else {
    T r;
    if constexpr (sizeof(T) == 16 && alignof(T) == 16) { __kuafu_u4 v = *(const __kuafu_u4*)p; __builtin_memcpy(&r, &v, 16); }
    else if constexpr (sizeof(T) == 8) { __kuafu_u2 v = *(const __kuafu_u2*)p; __builtin_memcpy(&r, &v, 8); }
    else if constexpr (sizeof(T) == 4) { unsigned v = *(const unsigned*)p; __builtin_memcpy(&r, &v, 4); }
    else if constexpr (sizeof(T) == 2) { unsigned short v = *(const unsigned short*)p; __builtin_memcpy(&r, &v, 2); }
    else r = *p;
    return r;
  }
}
template <class T> KUAFU_METHOD void __kuafu_store(T* p, const T& value) {
  if constexpr (__is_scalar(T) || sizeof(T) == 1 || alignof(T) < sizeof(T)) {
    *p = value;
  } else if constexpr (sizeof(T) == 16 && alignof(T) == 16) {
    __kuafu_u4 v; __builtin_memcpy(&v, &value, 16); *(__kuafu_u4*)p = v;
  } else if constexpr (sizeof(T) == 8) {
    __kuafu_u2 v; __builtin_memcpy(&v, &value, 8); *(__kuafu_u2*)p = v;
  } else {
    *p = value;
  }
}
template <class T> struct __kuafu_same { typedef T type; };
#define KUAFU_LOAD(name) template <class T> __attribute__((always_inline, device)) inline T name(const T* p) { return __kuafu_load(p); }
#define KUAFU_STORE(name)                                                                             \
  template <class T> __attribute__((always_inline, device)) inline void name(T* p, typename __kuafu_same<T>::type v) { __kuafu_store(p, v); }
KUAFU_LOAD(__ldg) KUAFU_LOAD(__ldca) KUAFU_LOAD(__ldcg) KUAFU_LOAD(__ldcs) KUAFU_LOAD(__ldlu) KUAFU_LOAD(__ldcv)
KUAFU_STORE(__stwb) KUAFU_STORE(__stcg) KUAFU_STORE(__stcs) KUAFU_STORE(__stwt)
#undef KUAFU_LOAD
#undef KUAFU_STORE

// Address spaces. The answers come from the run-time address, as on hardware.
KUAFU_D unsigned __isShared(const void* p) { return __nvvm_isspacep_shared(p); }
KUAFU_D unsigned __isGlobal(const void* p) { return __nvvm_isspacep_global(p); }
KUAFU_D unsigned __isConstant(const void* p) { return __nvvm_isspacep_const(p); }
KUAFU_D unsigned __isLocal(const void* p) { return __nvvm_isspacep_local(p); }
