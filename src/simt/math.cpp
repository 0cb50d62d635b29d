// SPDX-License-Identifier: Apache-2.0
// Math functions: one library for every tier. f32 results are the double result rounded once, which
// is within half an ulp and so inside every documented bound, the fast intrinsics' included.
#include <cfenv>
#include <cmath>
#include <limits>

#include "simt/exec.h"

namespace kuafu::simt {
namespace {

using isa::MathFn;

constexpr double kPi = 3.14159265358979323846;

double SinPi(double x) {
  if (!std::isfinite(x)) return std::nan("");
  double r = std::fmod(x, 2.0);
  if (r == std::trunc(r)) return std::copysign(0.0, x);
  if (r > 1) r -= 2;
  if (r < -1) r += 2;
  if (r > 0.5) r = 1 - r;
  if (r < -0.5) r = -1 - r;
  return std::sin(kPi * r);
}
double CosPi(double x) {
  if (!std::isfinite(x)) return std::nan("");
  double r = std::fabs(std::fmod(x, 2.0));
  if (r > 1) r = 2 - r;
  if (r == 0.5) return 0.0;
  return r < 0.25 ? std::cos(kPi * r) : std::sin(kPi * (0.5 - r));
}

// Giles' starting value, then Newton steps on erf (erfc in the tail, where erf has no digits left).
double ErfInvTail(double q, double x) {  // x with erfc(x) = q
  for (int i = 0; i < 4; ++i) {
    double slope = -2 / std::sqrt(kPi) * std::exp(-x * x);
    if (slope == 0) break;
    double step = (std::erfc(x) - q) / slope;
    x -= step / (1 + x * step);
  }
  return x;
}
double StartErfInv(double w, double y) {
  if (w < 5) {
    w -= 2.5;
    double p = 2.81022636e-08;
    for (double c : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
                     -0.00417768164, 0.246640727, 1.50140941})
      p = c + p * w;
    return p * y;
  }
  w = std::sqrt(w) - 3;
  double p = -0.000200214257;
  for (double c : {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
                   0.00943887047, 1.00167406, 2.83297682})
    p = c + p * w;
  return p * y;
}
double ErfcInv(double q) {
  if (!(q >= 0 && q <= 2)) return std::nan("");
  if (q == 0) return HUGE_VAL;
  if (q == 2) return -HUGE_VAL;
  if (q > 1) return -ErfcInv(2 - q);
  double y = 1 - q;
  double w = -std::log(q * (2 - q));
  double x = w < 40 ? StartErfInv(w, y) : std::sqrt(-std::log(q * std::sqrt(kPi) * std::sqrt(w)));
  return ErfInvTail(q, x);
}
double ErfInv(double y) {
  if (!(y >= -1 && y <= 1)) return std::nan("");
  if (y == 0) return y;
  if (std::fabs(y) == 1) return std::copysign(HUGE_VAL, y);
  double a = std::fabs(y);
  if (a > 0.5)
    return std::copysign(ErfInvTail(1 - a, StartErfInv(-std::log((1 - a) * (1 + a)), a)), y);
  double x = StartErfInv(-std::log((1 - y) * (1 + y)), y);
  for (int i = 0; i < 3; ++i) x -= (std::erf(x) - y) / (2 / std::sqrt(kPi) * std::exp(-x * x));
  return x;
}
// The C library's cbrt is up to 4 units off and the argument of erfc magnifies its rounding;
// devices document 1 and 5 units.
double Cbrt(double x) { return static_cast<double>(std::cbrt(static_cast<long double>(x))); }
double Normcdf(double x) { return static_cast<double>(std::erfc(-x / std::sqrt(2.0L)) / 2); }
double Erfcx(double x) {
  if (x < 25) return std::exp(x * x) * std::erfc(x);
  double r = 1 / (x * x);
  return 1 / (x * std::sqrt(kPi)) * (1 - r / 2 * (1 - 3 * r / 2));
}
double Bessel(double order, double x) {
  if (x != x) return x;
  double a = std::fabs(x);
  if (a > 713) return order == 1 && x < 0 ? -HUGE_VAL : HUGE_VAL;
  double v = std::cyl_bessel_i(order, a);
  return order == 1 && x < 0 ? -v : v;
}
double Frexp(double x, bool exponent) {
  int e = 0;
  double m = std::frexp(x, &e);
  return exponent ? (std::isfinite(x) ? e : 0) : m;
}

template <class T>
T Directed(int mode, MathFn fn, T a, T b, T c) {
  // volatile keeps the operation between the two mode changes.
  volatile T x = a, y = b, z = c, r = 0;
  std::fesetround(mode);
  switch (fn) {
    case MathFn::kAddRz: r = x + y; break;
    case MathFn::kMulRz: r = x * y; break;
    case MathFn::kDivRz: r = x / y; break;
    case MathFn::kFmaRz: {
      T p = x, q = y, s = z;
      r = std::fma(p, q, s);
      break;
    }
    case MathFn::kSqrtRz: {
      T p = x;
      r = std::sqrt(p);
      break;
    }
    default: r = T(1) / x; break;
  }
  std::fesetround(FE_TONEAREST);
  return r;
}

template <class T>
T Next(T a, T b) {
  return std::nextafter(a, b);
}

template <class T, MathFn F>
inline T One(T a, T b, T c) {
  [[maybe_unused]] double x = a, y = b, z = c;
#define M(name, expr) \
  if constexpr (F == MathFn::k##name) return T(expr);
#define R(name, base, mode) \
  if constexpr (F == MathFn::k##name) return Directed<T>(mode, MathFn::k##base, a, b, c);
  M(Sin, std::sin(x))
  M(Cos, std::cos(x))
  M(Tan, std::tan(x))
  M(Asin, std::asin(x))
  M(Acos, std::acos(x)) M(Atan, std::atan(x)) M(Atan2, std::atan2(x, y)) M(Sinh, std::sinh(x)) M(
      Cosh, std::cosh(x)) M(Tanh, std::tanh(x)) M(Asinh, std::asinh(x)) M(Acosh, std::acosh(x))
      M(Atanh, std::atanh(x)) M(Sinpi, SinPi(x)) M(Cospi, CosPi(x)) M(Tanpi, SinPi(x) / CosPi(x)) M(
          Exp, std::exp(x)) M(Exp2, std::exp2(x)) M(Exp10, ::exp10(x)) M(Expm1, std::expm1(x))
          M(Log, std::log(x)) M(Log2, std::log2(x)) M(Log10, std::log10(x)) M(
              Log1p, std::log1p(x)) M(Logb, std::logb(x)) M(Pow, std::pow(x, y)) M(Cbrt, Cbrt(x))
              M(Rcbrt, static_cast<double>(1 / std::cbrt(static_cast<long double>(x)))) M(
                  Rsqrt, 1 / std::sqrt(x)) M(Rcp, 1 / x) M(Hypot, std::hypot(x, y))
                  M(Rhypot, 1 / std::hypot(x, y)) M(Norm3d, std::hypot(x, y, z)) M(
                      Fmod,
                      std::fmod(x, y)) M(Remainder, std::remainder(x, y))
                      M(Fdim, std::fdim(a, b)) M(Nextafter, Next<T>(a, b)) M(Erf, std::erf(x)) M(
                          Erfc,
                          std::erfc(x)) M(Erfinv, ErfInv(x))
                          M(Erfcinv, ErfcInv(x)) M(Erfcx, Erfcx(x)) M(
                              Normcdf, Normcdf(x)) M(Normcdfinv, -std::sqrt(2.0) * ErfcInv(2 * x))
                              M(Tgamma, std::tgamma(x)) M(J0, ::j0(x)) M(J1, ::j1(x)) M(
                                  Y0,
                                  ::y0(x)) M(Y1, ::y1(x))
                                  M(CylBesselI0, Bessel(0, x)) M(CylBesselI1, Bessel(1, x)) M(
                                      Ldexp,
                                      std::ldexp(
                                          a, int(y < -100000 ? -100000
                                                 : y > 100000
                                                     ? 100000
                                                     : y))) M(Ilogb, T(std::ilogb(a)))
                                      M(FrexpMantissa, Frexp(x, false)) M(
                                          FrexpExponent, Frexp(x, true)) M(FastSin, std::sin(x))
                                          M(
                                              FastCos,
                                              std::cos(x)) M(FastTan,
                                                             std::tan(x)) M(FastExp, std::exp(x))
                                              M(FastExp10, ::exp10(x)) M(FastLog, std::log(x)) M(
                                                  FastLog2,
                                                  std::log2(x)) M(FastLog10, std::log10(x))
                                                  M(FastPow, std::pow(x, y)) M(FastDiv, x / y) M(
                                                      Saturate,
                                                      x > 0 ? (x < 1 ? a : T(1))
                                                            : T(0)) if constexpr (F ==
                                                                                  MathFn::kLgamma) {
    int sign = 0;  // lgamma writes a global otherwise
    return T(::lgamma_r(x, &sign));
  }
  if constexpr (F == MathFn::kModfFraction) {
    T whole = std::trunc(a);
    return std::copysign(std::isinf(a) ? T(0) : T(a - whole), a);
  }
  R(AddRz, AddRz, FE_TOWARDZERO)
  R(AddRu, AddRz, FE_UPWARD)
  R(AddRd, AddRz, FE_DOWNWARD)
  R(MulRz, MulRz, FE_TOWARDZERO)
  R(MulRu, MulRz, FE_UPWARD) R(MulRd, MulRz, FE_DOWNWARD) R(DivRz, DivRz, FE_TOWARDZERO)
      R(DivRu, DivRz, FE_UPWARD) R(DivRd, DivRz, FE_DOWNWARD) R(FmaRz, FmaRz, FE_TOWARDZERO)
          R(FmaRu, FmaRz, FE_UPWARD) R(FmaRd, FmaRz, FE_DOWNWARD) R(SqrtRz, SqrtRz, FE_TOWARDZERO)
              R(SqrtRu, SqrtRz, FE_UPWARD) R(SqrtRd, SqrtRz, FE_DOWNWARD)
                  R(RcpRz, RcpRz, FE_TOWARDZERO) R(RcpRu, RcpRz, FE_UPWARD)
                      R(RcpRd, RcpRz, FE_DOWNWARD)
#undef M
#undef R
}

// imm: bits 0-2 = which operands are uniform (stride 0). The call dominates, so one loop serves
// all.
template <class T, MathFn F>
void Loop(void* d, const void* a, const void* b, const void* c, int n, int64_t uniform) {
  T* D = static_cast<T*>(d);
  const T* X = static_cast<const T*>(a);
  const T* Y = static_cast<const T*>(b);
  const T* Z = static_cast<const T*>(c);
  int sx = uniform & 1 ? 0 : 1, sy = uniform & 2 ? 0 : 1, sz = uniform & 4 ? 0 : 1;
  for (int i = 0; i < n; ++i) D[i] = One<T, F>(X[i * sx], Y[i * sy], Z[i * sz]);
}

}  // namespace

LaneFn SelectMath(const isa::Inst& inst, unsigned) {
  if (inst.op != isa::Op::kMath) return nullptr;
  bool wide = inst.type == isa::Type::kF64;
  switch (static_cast<MathFn>(inst.imm)) {
#define MATH(name) \
  case MathFn::k##name: return wide ? Loop<double, MathFn::k##name> : Loop<float, MathFn::k##name>;
#include "isa/math.def"
#undef MATH
  }
  return nullptr;
}

}  // namespace kuafu::simt
