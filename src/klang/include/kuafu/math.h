// SPDX-License-Identifier: Apache-2.0
// Device mathematics. The functions of <cmath> come from clang's own resource headers as calls to the
// libdevice names (__nv_sinf, ...); what is exact by definition is turned into LLVM intrinsics here, by
// renaming, so that there is one list of functions and not two.
#pragma once

#include "kuafu/base.h"

#ifndef CUDA_VERSION
#define CUDA_VERSION 12040
#endif
#pragma push_macro("__forceinline__")
#include <__clang_cuda_math_forward_declares.h>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdlib>

#define __nv_sqrtf __builtin_sqrtf
#define __nv_sqrt __builtin_sqrt
#define __nv_fabsf __builtin_fabsf
#define __nv_fabs __builtin_fabs
#define __nv_floorf __builtin_floorf
#define __nv_floor __builtin_floor
#define __nv_ceilf __builtin_ceilf
#define __nv_ceil __builtin_ceil
#define __nv_truncf __builtin_truncf
#define __nv_trunc __builtin_trunc
#define __nv_roundf __builtin_roundf
#define __nv_round __builtin_round
#define __nv_fmaf __builtin_fmaf
#define __nv_fma __builtin_fma
#define __nv_fminf __builtin_fminf
#define __nv_fmin __builtin_fmin
#define __nv_fmaxf __builtin_fmaxf
#define __nv_fmax __builtin_fmax
#define __nv_copysignf __builtin_copysignf
#define __nv_copysign __builtin_copysign
#define __nv_abs(x) ((x) < 0 ? -(x) : (x))
#define __nv_llabs(x) ((x) < 0 ? -(x) : (x))
#define __nv_isnanf(x) __builtin_isnan(x)
#define __nv_isnand(x) __builtin_isnan(x)
#define __nv_isinff(x) __builtin_isinf(x)
#define __nv_isinfd(x) __builtin_isinf(x)
#define __nv_isfinited(x) __builtin_isfinite(x)
#define __nv_finitef(x) __builtin_isfinite(x)
#define __nv_signbitf(x) __builtin_signbit(x)
#define __nv_signbitd(x) __builtin_signbit(x)
#define __nv_llrint(x) __double2ll_rn(x)
#define __nv_llrintf(x) __float2ll_rn(x)
#define __nv_llround(x) ((long long)__builtin_round(x))
#define __nv_llroundf(x) ((long long)__builtin_roundf(x))
#define __nv_max(a, b) ((a) > (b) ? (a) : (b))
#define __nv_min(a, b) ((a) < (b) ? (a) : (b))
#define __nv_llmax __nv_max
#define __nv_llmin __nv_min
#define __nv_ullmax __nv_max
#define __nv_ullmin __nv_min
#define __nv_umax __nv_max
#define __nv_umin __nv_min

// libdevice's other functions, declared by the tables below rather than by clang's 460 line list.
#define KUAFU_F1(fn) KUAFU_EXTERN double __nv_##fn(double); KUAFU_EXTERN float __nv_##fn##f(float);
#define KUAFU_F2(fn) KUAFU_EXTERN double __nv_##fn(double, double); KUAFU_EXTERN float __nv_##fn##f(float, float);
#define KUAFU_F3(fn) KUAFU_EXTERN double __nv_##fn(double, double, double); KUAFU_EXTERN float __nv_##fn##f(float, float, float);
KUAFU_F1(acos) KUAFU_F1(acosh) KUAFU_F1(asin) KUAFU_F1(asinh) KUAFU_F1(atan) KUAFU_F1(atanh) KUAFU_F1(cbrt)
KUAFU_F1(cos) KUAFU_F1(cosh) KUAFU_F1(cospi) KUAFU_F1(cyl_bessel_i0) KUAFU_F1(cyl_bessel_i1) KUAFU_F1(erf)
KUAFU_F1(erfc) KUAFU_F1(erfcinv) KUAFU_F1(erfcx) KUAFU_F1(erfinv) KUAFU_F1(exp) KUAFU_F1(exp10) KUAFU_F1(exp2)
KUAFU_F1(expm1) KUAFU_F1(j0) KUAFU_F1(j1) KUAFU_F1(lgamma) KUAFU_F1(log) KUAFU_F1(log10) KUAFU_F1(log1p)
KUAFU_F1(log2) KUAFU_F1(logb) KUAFU_F1(normcdf) KUAFU_F1(normcdfinv) KUAFU_F1(rcbrt) KUAFU_F1(rsqrt) KUAFU_F1(sin)
KUAFU_F1(sinh) KUAFU_F1(sinpi) KUAFU_F1(tan) KUAFU_F1(tanh) KUAFU_F1(tgamma) KUAFU_F1(y0) KUAFU_F1(y1)
KUAFU_F2(atan2) KUAFU_F2(fdim) KUAFU_F2(fmod) KUAFU_F2(hypot) KUAFU_F2(nextafter) KUAFU_F2(pow) KUAFU_F2(remainder)
KUAFU_F2(rhypot)
KUAFU_F3(norm3d)
KUAFU_EXTERN int __nv_ilogb(double);
KUAFU_EXTERN int __nv_ilogbf(float);
KUAFU_EXTERN double __nv_ldexp(double, int);
KUAFU_EXTERN float __nv_ldexpf(float, int);
KUAFU_EXTERN double __nv_frexp(double, int*);
KUAFU_EXTERN float __nv_frexpf(float, int*);
KUAFU_EXTERN double __nv_modf(double, double*);
KUAFU_EXTERN float __nv_modff(float, float*);
#define __nv_scalbn __nv_ldexp
#define __nv_scalbnf __nv_ldexpf
#define __nv_powi(a, b) __nv_pow(a, (double)(b))
#define __nv_powif(a, b) __nv_powf(a, (float)(b))
#undef KUAFU_F1
#undef KUAFU_F2
#undef KUAFU_F3
#define KUAFU_F1(fn) KUAFU_EXTERN float __nv_fast_##fn##f(float);
KUAFU_F1(sin) KUAFU_F1(cos) KUAFU_F1(tan) KUAFU_F1(exp) KUAFU_F1(exp10) KUAFU_F1(log) KUAFU_F1(log2) KUAFU_F1(log10)
#undef KUAFU_F1
KUAFU_EXTERN float __nv_fast_powf(float, float);
KUAFU_EXTERN float __nv_fast_fdividef(float, float);
KUAFU_EXTERN float __nv_saturatef(float);

// Directed rounding. Nearest is the plain operation, except that it may not be contracted.
#define KUAFU_ROUND(r)                                                                                \
  KUAFU_EXTERN float __nv_fadd_##r(float, float); KUAFU_EXTERN double __nv_dadd_##r(double, double);  \
  KUAFU_EXTERN float __nv_fmul_##r(float, float); KUAFU_EXTERN double __nv_dmul_##r(double, double);  \
  KUAFU_EXTERN float __nv_fdiv_##r(float, float); KUAFU_EXTERN double __nv_ddiv_##r(double, double);  \
  KUAFU_EXTERN float __nv_frcp_##r(float); KUAFU_EXTERN double __nv_drcp_##r(double);                 \
  KUAFU_EXTERN float __nv_fsqrt_##r(float); KUAFU_EXTERN double __nv_dsqrt_##r(double);               \
  KUAFU_EXTERN float __nv_fmaf_##r(float, float, float); KUAFU_EXTERN double __nv_fma_##r(double, double, double); \
  KUAFU_D float __fadd_##r(float a, float b) { return __nv_fadd_##r(a, b); }                          \
  KUAFU_D float __fsub_##r(float a, float b) { return __nv_fadd_##r(a, -b); }                         \
  KUAFU_D float __fmul_##r(float a, float b) { return __nv_fmul_##r(a, b); }                          \
  KUAFU_D float __fdiv_##r(float a, float b) { return __nv_fdiv_##r(a, b); }                          \
  KUAFU_D float __frcp_##r(float a) { return __nv_frcp_##r(a); }                                      \
  KUAFU_D float __fsqrt_##r(float a) { return __nv_fsqrt_##r(a); }                                    \
  KUAFU_D float __fmaf_##r(float a, float b, float c) { return __nv_fmaf_##r(a, b, c); }              \
  KUAFU_D double __dadd_##r(double a, double b) { return __nv_dadd_##r(a, b); }                       \
  KUAFU_D double __dsub_##r(double a, double b) { return __nv_dadd_##r(a, -b); }                      \
  KUAFU_D double __dmul_##r(double a, double b) { return __nv_dmul_##r(a, b); }                       \
  KUAFU_D double __ddiv_##r(double a, double b) { return __nv_ddiv_##r(a, b); }                       \
  KUAFU_D double __drcp_##r(double a) { return __nv_drcp_##r(a); }                                    \
  KUAFU_D double __dsqrt_##r(double a) { return __nv_dsqrt_##r(a); }                                  \
  KUAFU_D double __fma_##r(double a, double b, double c) { return __nv_fma_##r(a, b, c); }
KUAFU_ROUND(rz) KUAFU_ROUND(ru) KUAFU_ROUND(rd)
#undef KUAFU_ROUND
#define KUAFU_NO_CONTRACT _Pragma("clang fp contract(off)")
KUAFU_D float __fadd_rn(float a, float b) { KUAFU_NO_CONTRACT return a + b; }
KUAFU_D float __fsub_rn(float a, float b) { KUAFU_NO_CONTRACT return a - b; }
KUAFU_D float __fmul_rn(float a, float b) { KUAFU_NO_CONTRACT return a * b; }
KUAFU_D float __fdiv_rn(float a, float b) { KUAFU_NO_CONTRACT return a / b; }
KUAFU_D float __frcp_rn(float a) { KUAFU_NO_CONTRACT return 1.0f / a; }
KUAFU_D float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
KUAFU_D float __frsqrt_rn(float a) { return __nv_rsqrtf(a); }
KUAFU_D float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KUAFU_D float __fmaf_ieee_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KUAFU_D double __dadd_rn(double a, double b) { KUAFU_NO_CONTRACT return a + b; }
KUAFU_D double __dsub_rn(double a, double b) { KUAFU_NO_CONTRACT return a - b; }
KUAFU_D double __dmul_rn(double a, double b) { KUAFU_NO_CONTRACT return a * b; }
KUAFU_D double __ddiv_rn(double a, double b) { KUAFU_NO_CONTRACT return a / b; }
KUAFU_D double __drcp_rn(double a) { KUAFU_NO_CONTRACT return 1.0 / a; }
KUAFU_D double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
KUAFU_D double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
#undef KUAFU_NO_CONTRACT

KUAFU_D float __sinf(float a) { return __nv_fast_sinf(a); }
KUAFU_D float __cosf(float a) { return __nv_fast_cosf(a); }
KUAFU_D float __tanf(float a) { return __nv_fast_tanf(a); }
KUAFU_D float __expf(float a) { return __nv_fast_expf(a); }
KUAFU_D float __exp10f(float a) { return __nv_fast_exp10f(a); }
KUAFU_D float __logf(float a) { return __nv_fast_logf(a); }
KUAFU_D float __log2f(float a) { return __nv_fast_log2f(a); }
KUAFU_D float __log10f(float a) { return __nv_fast_log10f(a); }
KUAFU_D float __powf(float a, float b) { return __nv_fast_powf(a, b); }
KUAFU_D float __fdividef(float a, float b) { return __nv_fast_fdividef(a, b); }
KUAFU_D float __saturatef(float a) { return __nv_saturatef(a); }
KUAFU_D float __tanhf(float a) { return __nv_tanhf(a); }
KUAFU_D void __sincosf(float a, float* s, float* c) {
  *s = __nv_fast_sinf(a);
  *c = __nv_fast_cosf(a);
}

// Conversions. Toward zero is the C cast, which the translator gives the hardware's saturation.
#define KUAFU_CONVERT(from, F, to, T)                                                                 \
  KUAFU_EXTERN T __nv_##from##2##to##_rn(F); KUAFU_EXTERN T __nv_##from##2##to##_ru(F);               \
  KUAFU_EXTERN T __nv_##from##2##to##_rd(F);                                                          \
  KUAFU_D T __##from##2##to##_rn(F a) { return __nv_##from##2##to##_rn(a); }                          \
  KUAFU_D T __##from##2##to##_ru(F a) { return __nv_##from##2##to##_ru(a); }                          \
  KUAFU_D T __##from##2##to##_rd(F a) { return __nv_##from##2##to##_rd(a); }                          \
  KUAFU_D T __##from##2##to##_rz(F a) { return (T)a; }
KUAFU_CONVERT(float, float, int, int)
KUAFU_CONVERT(float, float, uint, unsigned)
KUAFU_CONVERT(float, float, ll, long long)
KUAFU_CONVERT(float, float, ull, unsigned long long)
KUAFU_CONVERT(double, double, int, int)
KUAFU_CONVERT(double, double, uint, unsigned)
KUAFU_CONVERT(double, double, ll, long long)
KUAFU_CONVERT(double, double, ull, unsigned long long)
#undef KUAFU_CONVERT
KUAFU_D float __int2float_rn(int a) { return (float)a; }
KUAFU_D float __uint2float_rn(unsigned a) { return (float)a; }
KUAFU_D float __ll2float_rn(long long a) { return (float)a; }
KUAFU_D float __ull2float_rn(unsigned long long a) { return (float)a; }
KUAFU_D double __int2double_rn(int a) { return (double)a; }
KUAFU_D double __uint2double_rn(unsigned a) { return (double)a; }
KUAFU_D double __ll2double_rn(long long a) { return (double)a; }
KUAFU_D double __ull2double_rn(unsigned long long a) { return (double)a; }
KUAFU_D float __double2float_rn(double a) { return (float)a; }

// Compositions of the functions above, under the names clang's list calls.
#define KUAFU_COMPOSE(T, s, sqrt_, fabs_)                                                             \
  KUAFU_D T __kuafu_norm4##s(T a, T b, T c, T d) { return sqrt_(a * a + b * b + c * c + d * d); }      \
  KUAFU_D T __kuafu_norm##s(int n, const T* v) {                                                      \
    T sum = 0;                                                                                        \
    for (int i = 0; i < n; ++i) sum += v[i] * v[i];                                                   \
    return sqrt_(sum);                                                                                \
  }                                                                                                   \
  KUAFU_D T __kuafu_remquo##s(T a, T b, int* q) {                                                     \
    T r = __nv_remainder##s(a, b);                                                                    \
    *q = (int)((long long)((a - r) / b) & 0x7fffffff);                                                \
    return r;                                                                                         \
  }                                                                                                   \
  KUAFU_D void __kuafu_sincos##s(T a, T* s_, T* c_) { *s_ = __nv_sin##s(a); *c_ = __nv_cos##s(a); }   \
  KUAFU_D void __kuafu_sincospi##s(T a, T* s_, T* c_) { *s_ = __nv_sinpi##s(a); *c_ = __nv_cospi##s(a); } \
  KUAFU_D T __kuafu_bessel##s(int n, T a, T b0, T b1) {                                               \
    if (n == 0) return b0;                                                                            \
    for (int i = 1; i < n && i < 4096; ++i) { T next = 2 * i / a * b1 - b0; b0 = b1; b1 = next; }     \
    return b1;                                                                                        \
  }
KUAFU_COMPOSE(double, , __builtin_sqrt, __builtin_fabs)
KUAFU_COMPOSE(float, f, __builtin_sqrtf, __builtin_fabsf)
#undef KUAFU_COMPOSE
#define __nv_norm4d __kuafu_norm4
#define __nv_norm4df __kuafu_norm4f
#define __nv_norm __kuafu_norm
#define __nv_normf __kuafu_normf
#define __nv_rnorm(n, v) (1.0 / __kuafu_norm(n, v))
#define __nv_rnormf(n, v) (1.0f / __kuafu_normf(n, v))
#define __nv_rnorm3d(a, b, c) (1.0 / __nv_norm3d(a, b, c))
#define __nv_rnorm3df(a, b, c) (1.0f / __nv_norm3df(a, b, c))
#define __nv_rnorm4d(a, b, c, d) (1.0 / __kuafu_norm4(a, b, c, d))
#define __nv_rnorm4df(a, b, c, d) (1.0f / __kuafu_norm4f(a, b, c, d))
#define __nv_remquo __kuafu_remquo
#define __nv_remquof __kuafu_remquof
#define __nv_sincos __kuafu_sincos
#define __nv_sincosf __kuafu_sincosf
#define __nv_fast_sincosf __sincosf
#define __nv_sincospi __kuafu_sincospi
#define __nv_sincospif __kuafu_sincospif
#define __nv_jn(n, a) __kuafu_bessel(n, a, __nv_j0(a), __nv_j1(a))
#define __nv_jnf(n, a) __kuafu_besself(n, a, __nv_j0f(a), __nv_j1f(a))
#define __nv_yn(n, a) __kuafu_bessel(n, a, __nv_y0(a), __nv_y1(a))
#define __nv_ynf(n, a) __kuafu_besself(n, a, __nv_y0f(a), __nv_y1f(a))
KUAFU_D int __isfinited(double a) { return __builtin_isfinite(a); }
KUAFU_D int __finitef(float a) { return __builtin_isfinite(a); }
KUAFU_D int __isnan(double a) { return __builtin_isnan(a); }
KUAFU_D int __isnanf(float a) { return __builtin_isnan(a); }
KUAFU_D int __isinf(double a) { return __builtin_isinf(a); }
KUAFU_D int __isinff(float a) { return __builtin_isinf(a); }
KUAFU_D int __signbitd(double a) { return __builtin_signbit(a); }
KUAFU_D int __signbitf(float a) { return __builtin_signbit(a); }
#include <__clang_cuda_math.h>
#include <__clang_cuda_cmath.h>
#pragma pop_macro("__forceinline__")


// min and max of any two arithmetic types, the result being of their common type; CUDA has overloads for
// most pairs and kernels rely on them. Less specialised than std::min, so `using namespace std` is fine.
template <bool> struct __kuafu_if {};
template <> struct __kuafu_if<true> { typedef int type; };
#define KUAFU_BOTH_ARITHMETIC(A, B) typename __kuafu_if<__is_arithmetic(A) && __is_arithmetic(B)>::type = 0
template <class A, class B, KUAFU_BOTH_ARITHMETIC(A, B)>
KUAFU_METHOD constexpr auto max(A a, B b) {
  using C = decltype(a + b);
  if constexpr (__is_floating_point(C) && sizeof(C) == 4) return (C)__builtin_fmaxf((C)a, (C)b);
  else if constexpr (__is_floating_point(C)) return (C)__builtin_fmax((C)a, (C)b);
  else return (C)a > (C)b ? (C)a : (C)b;
}
template <class A, class B, KUAFU_BOTH_ARITHMETIC(A, B)>
KUAFU_METHOD constexpr auto min(A a, B b) {
  using C = decltype(a + b);
  if constexpr (__is_floating_point(C) && sizeof(C) == 4) return (C)__builtin_fminf((C)a, (C)b);
  else if constexpr (__is_floating_point(C)) return (C)__builtin_fmin((C)a, (C)b);
  else return (C)a < (C)b ? (C)a : (C)b;
}

// CUDA has these on the host as well.
#ifndef KUAFU_DEVICE_PASS
static __inline__ __attribute__((host)) float rsqrtf(float a) { return 1.0f / __builtin_sqrtf(a); }
static __inline__ __attribute__((host)) double rsqrt(double a) { return 1.0 / __builtin_sqrt(a); }
#endif
KUAFU_D float rsqrt(float a) { return __nv_rsqrtf(a); }
KUAFU_D float rcbrt(float a) { return __nv_rcbrtf(a); }

// The overloads for float that clang declares and leaves to libstdc++, which has them for the host.
// Templates over the element type call them.
#ifdef KUAFU_DEVICE_PASS
#define KUAFU_F1(fn) KUAFU_D float fn(float a) { return ::fn##f(a); }
#define KUAFU_F2(fn) KUAFU_D float fn(float a, float b) { return ::fn##f(a, b); }
KUAFU_F1(acosh) KUAFU_F1(asinh) KUAFU_F1(atanh) KUAFU_F1(cbrt) KUAFU_F1(erf) KUAFU_F1(erfc) KUAFU_F1(exp2) KUAFU_F1(expm1)
KUAFU_F1(lgamma) KUAFU_F1(log1p) KUAFU_F1(log2) KUAFU_F1(logb) KUAFU_F1(tgamma) KUAFU_F1(round) KUAFU_F1(rint)
KUAFU_F1(trunc) KUAFU_F1(nearbyint)
KUAFU_F2(fdim) KUAFU_F2(hypot) KUAFU_F2(nextafter) KUAFU_F2(remainder) KUAFU_F2(fmax) KUAFU_F2(fmin) KUAFU_F2(copysign)
KUAFU_D long lround(float a) { return ::lroundf(a); }
KUAFU_D long long llround(float a) { return ::llroundf(a); }
KUAFU_D long lrint(float a) { return ::lrintf(a); }
KUAFU_D long long llrint(float a) { return ::llrintf(a); }
KUAFU_D int ilogb(float a) { return ::ilogbf(a); }
KUAFU_D float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
KUAFU_D float scalbn(float a, int b) { return ::scalbnf(a, b); }
KUAFU_D float scalbln(float a, long b) { return ::scalblnf(a, b); }
KUAFU_D float remquo(float a, float b, int* c) { return ::remquof(a, b, c); }
#undef KUAFU_F1
#undef KUAFU_F2
#endif
