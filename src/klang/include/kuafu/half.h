// SPDX-License-Identifier: Apache-2.0
// half and bfloat16 as plain structs over _Float16 and __bf16: on the device every operation is a native
// LLVM one, so the IR stays clean; on the host the conversions are done on bits, so that no run-time
// library of a particular compiler is needed. Both types are written once, by half.inc.
#pragma once

#include "kuafu/atomics.h"

KUAFU_HD unsigned short __kuafu_float_to_half_bits(float f) {
  unsigned u = __float_as_uint(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return (unsigned short)(sign | 0x7fffu);
  if (a >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (a < 0x38800000u) {  // below the smallest normal: let one float addition do the rounding
    float r = __uint_as_float(a) + __uint_as_float(0x3f000000u);
    return (unsigned short)(sign | (__float_as_uint(r) - 0x3f000000u));
  }
  return (unsigned short)(sign | ((a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13));
}
KUAFU_HD float __kuafu_half_bits_to_float(unsigned short h) {
  unsigned sign = (unsigned)(h & 0x8000u) << 16, e = (h >> 10) & 31u, m = h & 0x3ffu;
  if (e == 31) return __uint_as_float(sign | 0x7f800000u | (m << 13));
  if (e == 0) return __uint_as_float(__float_as_uint((float)m * 5.9604644775390625e-8f) | sign);
  return __uint_as_float(sign | ((e + 112u) << 23) | (m << 13));
}
KUAFU_HD unsigned short __kuafu_float_to_bfloat_bits(float f) {
  unsigned u = __float_as_uint(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;
  return (unsigned short)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
KUAFU_HD float __kuafu_bfloat_bits_to_float(unsigned short b) { return __uint_as_float((unsigned)b << 16); }
// A double rounds once: to odd in float first, then to nearest.
KUAFU_HD float __kuafu_double_to_float_odd(double d) {
  float f = (float)d;
  if (f != f || (double)f == d) return f;
  unsigned u = __float_as_uint(f);
  if (u & 1u) return f;
  bool too_far = (f < 0 ? -(double)f : (double)f) > (d < 0 ? -d : d);
  return __uint_as_float(too_far ? u - 1u : u + 1u);
}

// The nearest value, or its neighbour towards zero (mode 1), up (2) or down (3). `near` is the nearest as
// bits, `back` what it stands for. Infinity is reached by rounding only where the mode points to it.
KUAFU_HD unsigned short __kuafu_round_bits(float f, unsigned short near, float back, int mode) {
  if (!(f != back) || f != f) return near;
  const bool grew = back > f;                  // the step back goes down
  const bool wrong = mode == 1 ? (f > 0) == grew : mode == 2 ? !grew : grew;
  if (!wrong) return near;
  const bool up = !grew;                       // the neighbour that is wanted is above
  if ((near & 0x7fffu) == 0) return up ? 1 : 0x8001u;
  return (unsigned short)(((near & 0x8000u) == 0) == up ? near + 1 : near - 1);
}
struct __align__(2) __half_raw { unsigned short x; };
struct __align__(2) __nv_bfloat16_raw { unsigned short x; };

#define KUAFU_T __half
#define KUAFU_T2 __half2
#define KUAFU_RAW __half_raw
#define KUAFU_NATIVE _Float16
#define KUAFU_IS_HALF 1
#define KUAFU_FROM_BITS __kuafu_half_bits_to_float
#define KUAFU_TO_BITS __kuafu_float_to_half_bits
#define KUAFU_ATOMIC(scope) __kuafu_atomic_add_f16_##scope
#include "kuafu/half.inc"

#define KUAFU_T __nv_bfloat16
#define KUAFU_T2 __nv_bfloat162
#define KUAFU_RAW __nv_bfloat16_raw
#define KUAFU_NATIVE __bf16
#define KUAFU_FROM_BITS __kuafu_bfloat_bits_to_float
#define KUAFU_TO_BITS __kuafu_float_to_bfloat_bits
#define KUAFU_ATOMIC(scope) __kuafu_atomic_add_bf16_##scope
#include "kuafu/half.inc"

// Names that differ between the two types.
KUAFU_HD __half __float2half(float a) { return __half(a); }
KUAFU_HD __half __float2half_rn(float a) { return __half(a); }
KUAFU_HD __half __kuafu_half_rounded(float a, int mode) {
  const unsigned short near = __kuafu_float_to_half_bits(a);
  return __half(__half_raw{__kuafu_round_bits(a, near, __kuafu_half_bits_to_float(near), mode)});
}
KUAFU_HD __half __float2half_rz(float a) { return __kuafu_half_rounded(a, 1); }
KUAFU_HD __half __float2half_ru(float a) { return __kuafu_half_rounded(a, 2); }
KUAFU_HD __half __float2half_rd(float a) { return __kuafu_half_rounded(a, 3); }
KUAFU_HD __half __double2half(double a) { return __half(a); }
KUAFU_HD float __half2float(__half a) { return (float)a; }
KUAFU_HD __half2 __float2half2_rn(float a) { return __half2(__half(a), __half(a)); }
KUAFU_HD __half2 __floats2half2_rn(float a, float b) { return __half2(__half(a), __half(b)); }
KUAFU_HD __half2 __float22half2_rn(float2 a) { return __half2(__half(a.x), __half(a.y)); }
KUAFU_HD float2 __half22float2(__half2 a) { return {(float)a.x, (float)a.y}; }
KUAFU_HD __half2 __half2half2(__half a) { return __half2(a, a); }
KUAFU_HD __half __ushort_as_half(unsigned short a) { return __half(__half_raw{a}); }
KUAFU_HD __half __short_as_half(short a) { return __half(__half_raw{(unsigned short)a}); }
KUAFU_HD unsigned short __half_as_ushort(__half a) { return ((__half_raw)a).x; }
KUAFU_HD short __half_as_short(__half a) { return (short)((__half_raw)a).x; }
KUAFU_HD __nv_bfloat16 __float2bfloat16(float a) { return __nv_bfloat16(a); }
KUAFU_HD __nv_bfloat16 __float2bfloat16_rn(float a) { return __nv_bfloat16(a); }
KUAFU_HD __nv_bfloat16 __kuafu_bfloat_rounded(float a, int mode) {
  const unsigned short near = __kuafu_float_to_bfloat_bits(a);
  return __nv_bfloat16(__nv_bfloat16_raw{__kuafu_round_bits(a, near, __kuafu_bfloat_bits_to_float(near), mode)});
}
KUAFU_HD __nv_bfloat16 __float2bfloat16_rz(float a) { return __kuafu_bfloat_rounded(a, 1); }
KUAFU_HD __nv_bfloat16 __float2bfloat16_ru(float a) { return __kuafu_bfloat_rounded(a, 2); }
KUAFU_HD __nv_bfloat16 __float2bfloat16_rd(float a) { return __kuafu_bfloat_rounded(a, 3); }
KUAFU_HD __nv_bfloat16 __double2bfloat16(double a) { return __nv_bfloat16(a); }
KUAFU_HD float __bfloat162float(__nv_bfloat16 a) { return (float)a; }
KUAFU_HD __nv_bfloat162 __float2bfloat162_rn(float a) { return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(a)); }
KUAFU_HD __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(b)); }
KUAFU_HD __nv_bfloat162 __float22bfloat162_rn(float2 a) { return __nv_bfloat162(__nv_bfloat16(a.x), __nv_bfloat16(a.y)); }
KUAFU_HD float2 __bfloat1622float2(__nv_bfloat162 a) { return {(float)a.x, (float)a.y}; }
KUAFU_HD __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
KUAFU_HD __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
KUAFU_HD __nv_bfloat16 __ushort_as_bfloat16(unsigned short a) { return __nv_bfloat16(__nv_bfloat16_raw{a}); }
KUAFU_HD __nv_bfloat16 __short_as_bfloat16(short a) { return __nv_bfloat16(__nv_bfloat16_raw{(unsigned short)a}); }
KUAFU_HD unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return ((__nv_bfloat16_raw)a).x; }
KUAFU_HD short __bfloat16_as_short(__nv_bfloat16 a) { return (short)((__nv_bfloat16_raw)a).x; }
// Integer conversions: from an integer by nearest even through double (exact for 32 bits), to one by the mode.
#define KUAFU_INT(T, name, half_, prefix)                                                             \
  KUAFU_D T __##half_##2##name##_rz(prefix a) { return (T)(float)a; }                                 \
  KUAFU_D T __##half_##2##name##_rn(prefix a) { return (T)__builtin_rintf((float)a); }                \
  KUAFU_D T __##half_##2##name##_rd(prefix a) { return (T)__builtin_floorf((float)a); }               \
  KUAFU_D T __##half_##2##name##_ru(prefix a) { return (T)__builtin_ceilf((float)a); }                \
  KUAFU_HD prefix __##name##2##half_##_rn(T a) { return prefix((double)a); }
#define KUAFU_INTS(half_, prefix)                                                                     \
  KUAFU_INT(int, int, half_, prefix) KUAFU_INT(unsigned, uint, half_, prefix)                         \
  KUAFU_INT(short, short, half_, prefix) KUAFU_INT(unsigned short, ushort, half_, prefix)             \
  KUAFU_INT(long long, ll, half_, prefix) KUAFU_INT(unsigned long long, ull, half_, prefix)
KUAFU_INTS(half, __half)
KUAFU_INTS(bfloat16, __nv_bfloat16)
#undef KUAFU_INTS
#undef KUAFU_INT
#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00u)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fffu)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bffu)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001u)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000u)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00u)
#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7f80u)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7fffu)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7f7fu)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000u)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3f80u)
