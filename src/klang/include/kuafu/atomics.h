// SPDX-License-Identifier: Apache-2.0
// Atomics: external functions __kuafu_atomic_<op>_<type>_<scope>, relaxed, returning the old value. The
// scope is in the name because atomicrmw made from C++ for this target has none.
#pragma once

#include "kuafu/warp.h"

#define KUAFU_RMW(op, type, T)                                                                        \
  KUAFU_EXTERN T __kuafu_atomic_##op##_##type##_cta(T*, T);                                           \
  KUAFU_EXTERN T __kuafu_atomic_##op##_##type##_gpu(T*, T);                                           \
  KUAFU_EXTERN T __kuafu_atomic_##op##_##type##_sys(T*, T);
#define KUAFU_RMW_INT(type, T)                                                                        \
  KUAFU_RMW(add, type, T) KUAFU_RMW(min, type, T) KUAFU_RMW(max, type, T)
#define KUAFU_RMW_BITS(type, T) KUAFU_RMW(and, type, T) KUAFU_RMW(or, type, T) KUAFU_RMW(xor, type, T) KUAFU_RMW(exch, type, T)
KUAFU_RMW_INT(i32, int)
KUAFU_RMW_INT(u32, unsigned)
KUAFU_RMW_INT(i64, long long)
KUAFU_RMW_INT(u64, unsigned long long)
KUAFU_RMW_BITS(u32, unsigned)
KUAFU_RMW_BITS(u64, unsigned long long)
KUAFU_RMW(inc, u32, unsigned)
KUAFU_RMW(dec, u32, unsigned)
KUAFU_RMW(add, f32, float)
KUAFU_RMW(add, f64, double)
KUAFU_RMW(add, f16, _Float16)
KUAFU_RMW(add, bf16, __bf16)
#define KUAFU_CAS(type, T)                                                                            \
  KUAFU_EXTERN T __kuafu_atomic_cas_##type##_cta(T*, T expected, T desired);                          \
  KUAFU_EXTERN T __kuafu_atomic_cas_##type##_gpu(T*, T expected, T desired);                          \
  KUAFU_EXTERN T __kuafu_atomic_cas_##type##_sys(T*, T expected, T desired);
KUAFU_CAS(u16, unsigned short)
KUAFU_CAS(u32, unsigned)
KUAFU_CAS(u64, unsigned long long)
#undef KUAFU_CAS
#undef KUAFU_RMW

// A call on a type with no overload picks none of these and clang lists them.
#define KUAFU_OP(Name, op, T, type, suffix, scope)                                                    \
  KUAFU_D T atomic##Name##suffix(T* p, T v) { return __kuafu_atomic_##op##_##type##_##scope(p, v); }
#define KUAFU_OP_ALIAS(Name, op, T, U, type, suffix, scope)                                           \
  KUAFU_D T atomic##Name##suffix(T* p, T v) { return (T)__kuafu_atomic_##op##_##type##_##scope((U*)p, (U)v); }
#define KUAFU_ATOMICS(suffix, scope)                                                                  \
  KUAFU_OP(Add, add, int, i32, suffix, scope)                                                         \
  KUAFU_OP(Add, add, unsigned, u32, suffix, scope)                                                    \
  KUAFU_OP(Add, add, unsigned long long, u64, suffix, scope)                                          \
  KUAFU_OP_ALIAS(Add, add, unsigned long, unsigned long long, u64, suffix, scope)                     \
  KUAFU_OP(Add, add, float, f32, suffix, scope)                                                       \
  KUAFU_OP(Add, add, double, f64, suffix, scope)                                                      \
  KUAFU_D float2 atomicAdd##suffix(float2* p, float2 v) {                                             \
    return {__kuafu_atomic_add_f32_##scope(&p->x, v.x), __kuafu_atomic_add_f32_##scope(&p->y, v.y)};  \
  }                                                                                                   \
  KUAFU_D float4 atomicAdd##suffix(float4* p, float4 v) {                                             \
    return {__kuafu_atomic_add_f32_##scope(&p->x, v.x), __kuafu_atomic_add_f32_##scope(&p->y, v.y),   \
            __kuafu_atomic_add_f32_##scope(&p->z, v.z), __kuafu_atomic_add_f32_##scope(&p->w, v.w)};  \
  }                                                                                                   \
  KUAFU_D int atomicSub##suffix(int* p, int v) { return __kuafu_atomic_add_i32_##scope(p, (int)(0u - (unsigned)v)); } \
  KUAFU_D unsigned atomicSub##suffix(unsigned* p, unsigned v) { return __kuafu_atomic_add_u32_##scope(p, 0u - v); } \
  KUAFU_OP(Min, min, int, i32, suffix, scope) KUAFU_OP(Max, max, int, i32, suffix, scope)             \
  KUAFU_OP(Min, min, unsigned, u32, suffix, scope) KUAFU_OP(Max, max, unsigned, u32, suffix, scope)   \
  KUAFU_OP(Min, min, long long, i64, suffix, scope) KUAFU_OP(Max, max, long long, i64, suffix, scope) \
  KUAFU_OP(Min, min, unsigned long long, u64, suffix, scope)                                          \
  KUAFU_OP(Max, max, unsigned long long, u64, suffix, scope)                                          \
  KUAFU_ATOMIC_BITS(And, and, suffix, scope)                                                          \
  KUAFU_ATOMIC_BITS(Or, or, suffix, scope)                                                            \
  KUAFU_ATOMIC_BITS(Xor, xor, suffix, scope)                                                          \
  KUAFU_ATOMIC_BITS(Exch, exch, suffix, scope)                                                        \
  KUAFU_D float atomicExch##suffix(float* p, float v) {                                               \
    return __uint_as_float(__kuafu_atomic_exch_u32_##scope((unsigned*)p, __float_as_uint(v)));        \
  }                                                                                                   \
  KUAFU_OP(Inc, inc, unsigned, u32, suffix, scope)                                                    \
  KUAFU_OP(Dec, dec, unsigned, u32, suffix, scope)                                                    \
  KUAFU_D int atomicCAS##suffix(int* p, int a, int b) {                                               \
    return (int)__kuafu_atomic_cas_u32_##scope((unsigned*)p, (unsigned)a, (unsigned)b);               \
  }                                                                                                   \
  KUAFU_D unsigned atomicCAS##suffix(unsigned* p, unsigned a, unsigned b) {                           \
    return __kuafu_atomic_cas_u32_##scope(p, a, b);                                                   \
  }                                                                                                   \
  KUAFU_D unsigned long long atomicCAS##suffix(unsigned long long* p, unsigned long long a, unsigned long long b) { \
    return __kuafu_atomic_cas_u64_##scope(p, a, b);                                                   \
  }                                                                                                   \
  KUAFU_D unsigned short atomicCAS##suffix(unsigned short* p, unsigned short a, unsigned short b) {   \
    return __kuafu_atomic_cas_u16_##scope(p, a, b);                                                   \
  }
#define KUAFU_ATOMIC_BITS(Name, op, suffix, scope)                                                    \
  KUAFU_OP_ALIAS(Name, op, int, unsigned, u32, suffix, scope)                                         \
  KUAFU_OP(Name, op, unsigned, u32, suffix, scope)                                                    \
  KUAFU_OP(Name, op, unsigned long long, u64, suffix, scope)
KUAFU_ATOMICS(, gpu)
KUAFU_ATOMICS(_block, cta)
KUAFU_ATOMICS(_system, sys)
#undef KUAFU_ATOMICS
#undef KUAFU_ATOMIC_BITS
#undef KUAFU_OP
#undef KUAFU_OP_ALIAS
#undef KUAFU_RMW_INT
#undef KUAFU_RMW_BITS
