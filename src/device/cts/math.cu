// SPDX-License-Identifier: Apache-2.0
// Mathematics: each function of float against the host's double, of double against the host's long
// double, within a stated bound in units of the last place. The bounds are those of the CUDA
// programming guide, "Mathematical Functions" (maximum error, full range); where it states none
// the line says so. MUSA publishes no table; its functions are held to the same.
// Special values: what C99 Annex F says.
#include "check.h"

#include <algorithm>

// name, bound for float, bound for double, lowest and highest argument
#define UNARY(F)                                                                                   \
  F(sqrt, 0, 0, 0, 1e6)                                                                            \
  F(cbrt, 1, 1, -1e6, 1e6)                                                                         \
  F(exp, 2, 1, -80, 80)                                                                            \
  F(exp2, 2, 1, -120, 120) F(expm1, 1, 1, -5, 80) F(log, 1, 1, 1e-6, 1e6) F(log2, 1, 1, 1e-6, 1e6) \
      F(log10, 2, 1, 1e-6, 1e6) F(log1p, 1, 1, -0.99, 1e6) F(sin, 2, 2, -100, 100)                 \
          F(cos, 2, 2, -100, 100) F(tan, 4, 2, -100, 100) F(asin, 2, 2, -1, 1)                     \
              F(acos, 2, 2, -1, 1) F(atan, 2, 2, -1e3, 1e3) F(sinh, 3, 2, -80, 80)                 \
                  F(cosh, 2, 1, -80, 80) F(tanh, 2, 1, -20, 20) F(asinh, 3, 3, -1e5, 1e5)          \
                      F(acosh, 4, 3, 1, 1e5) F(atanh, 3, 2, -0.999, 0.999) F(erf, 2, 2, -5, 5)     \
                          F(erfc, 4, 5, -5, 8) F(tgamma, 5, 10, 0.1, 30) F(lgamma, 6, 4, 0.1, 1e4) \
                              F(floor, 0, 0, -1e3, 1e3) F(ceil, 0, 0, -1e3, 1e3)                   \
                                  F(trunc, 0, 0, -1e3, 1e3) F(round, 0, 0, -50, 50)                \
                                      F(rint, 0, 0, -50, 50) F(nearbyint, 0, 0, -50, 50)           \
                                          F(fabs, 0, 0, -1e3, 1e3) F(logb, 0, 0, 1e-6, 1e6)
#define BINARY(F)                                                          \
  F(pow, 4, 2, 0.01, 50, -10, 10)                                          \
  F(atan2, 3, 2, -10, 10, -10, 10)                                         \
  F(hypot, 3, 2, -1e3, 1e3, -1e3, 1e3)                                     \
  F(fmod, 0, 0, -1e3, 1e3, 0.1, 20) F(remainder, 0, 0, -1e3, 1e3, 0.1, 20) \
      F(fmin, 0, 0, -10, 10, -10, 10) F(fmax, 0, 0, -10, 10, -10, 10)      \
          F(fdim, 0, 0, -10, 10, -10, 10) F(copysign, 0, 0, -10, 10, -10, 10)
// What the host has no function for: the formula stands beside it, in R, the wider type.
#define OTHER(F)                                       \
  F(rsqrt, 2, 1, 1e-3, 1e6, 1 / std::sqrt(x))          \
  F(rcbrt, 1, 1, 1e-3, 1e6, 1 / std::cbrt(x))          \
  F(exp10, 2, 1, -30, 30, std::pow(R(10), x))          \
  F(sinpi, 1, 2, -2.9, 2.9, std::sin(Pi<R>() * x))     \
      F(cospi, 1, 2, -2.9, 2.9, std::cos(Pi<R>() * x)) \
          F(normcdf, 5, 5, -5, 5, std::erfc(-x / std::sqrt(R(2))) / 2)

constexpr int kN = 256;
template <class R>
R Pi() {
  return std::acos(R(-1));
}
template <class T>
T Argument(double low, double high, int i) {
  if (i == 0) return T(low);
  if (i == 1) return T(high);
  // Half of the arguments are spread evenly, half are small.
  const double u = cts::Mix(unsigned(i)) / 4294967296.0, v = low + (high - low) * u;
  if (i % 2 || low > 0 || high < 0) return T(v);
  return T(v * std::pow(2.0, -double(cts::Mix(unsigned(i) + 77) % 20)));
}

#define KERNEL_ONE(name, ...)                                                        \
  __global__ void K_##name(const float* f, const double* d, float* of, double* od) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                             \
    of[i] = name##f(f[i]), od[i] = name(d[i]);                                       \
  }
#define KERNEL_TWO(name, ...)                                                        \
  __global__ void K_##name(const float* f, const double* d, float* of, double* od) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                             \
    of[i] = name##f(f[i], f[kN + i]), od[i] = name(d[i], d[kN + i]);                 \
  }
UNARY(KERNEL_ONE)
OTHER(KERNEL_ONE)
BINARY(KERNEL_TWO)
typedef void (*Kernel)(const float*, const double*, float*, double*);

// The distance in units of the last place of T at the exact value.
template <class T, class R>
double Ulps(T got, R exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : INFINITY;
  const T nearest = T(exact);
  if (got == nearest) return 0;
  if (std::isinf(nearest) || std::isinf(got) || std::isnan(got)) return INFINITY;
  int e = 0;
  std::frexp(exact, &e);
  const int digits = sizeof(T) == 4 ? 24 : 53, least = sizeof(T) == 4 ? -149 : -1074;
  return double(std::fabs(R(got) - exact) / std::ldexp(R(1), std::max(e - digits, least)));
}
// `bound` 0: correctly rounded. Otherwise half a unit is the rounding of the exact value itself.
template <class T, class R>
void Judge(const char* name, T x, T w, T got, R exact, double bound) {
  const double ulps = Ulps<T, R>(got, exact);
  if (bound == 0 ? ulps == 0 : ulps <= bound + 0.5) {
    ++cts::Counts().checks;
    return;
  }
  cts::Check(false, __FILE__, __LINE__,
             std::string(name) + (sizeof(T) == 4 ? "f" : "") + "(" + cts::Text(x) + ", " +
                 cts::Text(w) + ") is " + cts::Text(ulps) + " units off, " + cts::Text(bound) +
                 " allowed",
             cts::Text(got), cts::Text(double(exact)));
}
struct Function {
  const char* name;
  Kernel kernel;
  double bound_f, bound_d, low, high, low2, high2;
  double (*of_float)(double, double);
  long double (*of_double)(long double, long double);
};
#define ROW_ONE(name, bf, bd, low, high)                  \
  {#name,                                                 \
   K_##name,                                              \
   bf,                                                    \
   bd,                                                    \
   low,                                                   \
   high,                                                  \
   0,                                                     \
   1,                                                     \
   [](double x, double) { return double(std::name(x)); }, \
   [](long double x, long double) { return (long double)(std::name(x)); }},
#define ROW_TWO(name, bf, bd, low, high, low2, high2)          \
  {#name,                                                      \
   K_##name,                                                   \
   bf,                                                         \
   bd,                                                         \
   low,                                                        \
   high,                                                       \
   low2,                                                       \
   high2,                                                      \
   [](double x, double w) { return double(std::name(x, w)); }, \
   [](long double x, long double w) { return (long double)(std::name(x, w)); }},
#define ROW_OTHER(name, bf, bd, low, high, formula) \
  {#name,                                           \
   K_##name,                                        \
   bf,                                              \
   bd,                                              \
   low,                                             \
   high,                                            \
   0,                                               \
   1,                                               \
   [](double x, double) {                           \
     typedef double R;                              \
     return R(formula);                             \
   },                                               \
   [](long double x, long double) {                 \
     typedef long double R;                         \
     return R(formula);                             \
   }},
static const Function functions[] = {UNARY(ROW_ONE) OTHER(ROW_OTHER) BINARY(ROW_TWO)};

static void CheckFunction(const Function& f) {
  std::vector<float> in_f(2 * kN);
  std::vector<double> in_d(2 * kN);
  for (int i = 0; i < kN; ++i) {
    in_f[i] = Argument<float>(f.low, f.high, i),
    in_f[kN + i] = Argument<float>(f.low2, f.high2, i + 3);
    in_d[i] = Argument<double>(f.low, f.high, i),
    in_d[kN + i] = Argument<double>(f.low2, f.high2, i + 3);
  }
  cts::Buffer<float> a(in_f), of(kN);
  cts::Buffer<double> b(in_d), od(kN);
  f.kernel<<<kN / 128, 128>>>(a.get(), b.get(), of.get(), od.get());
  CTS_DONE();
  const std::vector<float> got_f = of.Read();
  const std::vector<double> got_d = od.Read();
  for (int i = 0; i < kN; ++i) {
    Judge<float, double>(f.name, in_f[i], in_f[kN + i], got_f[i], f.of_float(in_f[i], in_f[kN + i]),
                         f.bound_f);
    Judge<double, long double>(f.name, in_d[i], in_d[kN + i], got_d[i],
                               f.of_double(in_d[i], in_d[kN + i]), f.bound_d);
  }
}

// Basic arithmetic with each rounding; contraction only where it is asked for.
__global__ void Rounding(const float* a, const float* b, float* o, const double* c, const double* d,
                         double* p) {
  const int i = threadIdx.x;
  const float x = a[i], y = b[i];
  const double z = c[i], w = d[i];
  float* q = o + i * 16;
  q[0] = __fadd_rn(x, y), q[1] = __fadd_rz(x, y), q[2] = __fadd_ru(x, y), q[3] = __fadd_rd(x, y);
  q[4] = __fmul_rn(x, y), q[5] = __fmul_rz(x, y), q[6] = __fmul_ru(x, y), q[7] = __fmul_rd(x, y);
  q[8] = __fdiv_rn(x, y), q[9] = __fdiv_rz(x, y), q[10] = __fdiv_ru(x, y), q[11] = __fdiv_rd(x, y);
  q[12] = __fmaf_rn(x, y, x), q[13] = x / y, q[14] = __fsqrt_rn(fabsf(x)), q[15] = fmaf(x, x, -y);
  double* r = p + i * 6;
  r[0] = __dadd_rn(z, w), r[1] = __dmul_rn(z, w), r[2] = __ddiv_rn(z, w), r[3] = __fma_rn(z, w, z);
  r[4] = z / w, r[5] = __dsqrt_rn(fabs(z));
}
template <class R>
static float RoundTo(R exact, R rest, int mode) {  // `rest`: sign of what exact itself lost
  const float near = float(exact);
  const double error = double(exact - R(near)) != 0 ? double(exact - R(near)) : double(rest);
  if (mode == 0 || error == 0) return near;
  if (mode == 1) return (near > 0) == (error < 0) && near != 0 ? std::nextafter(near, 0.0f) : near;
  if (mode == 2) return error > 0 ? std::nextafter(near, INFINITY) : near;
  return error < 0 ? std::nextafter(near, -INFINITY) : near;
}
static void CheckRounding() {
  std::vector<float> a, b;
  std::vector<double> c, d;
  for (unsigned i = 0; i < 128; ++i) {
    a.push_back(float((double(cts::Mix(i)) - 2e9) / (1 << (i % 30))));
    b.push_back(float((double(cts::Mix(i + 500)) - 2e9) / (1 << (i % 27))));
    c.push_back(double(a[i]) * 1.000000123456789), d.push_back(double(b[i]) * 0.987654321987654);
  }
  cts::Buffer<float> da(a), db(b), out_f(128 * 16);
  cts::Buffer<double> dc(c), dd(d), out_d(128 * 6);
  Rounding<<<1, 128>>>(da.get(), db.get(), out_f.get(), dc.get(), dd.get(), out_d.get());
  CTS_DONE();
  const std::vector<float> f = out_f.Read();
  const std::vector<double> g = out_d.Read();
  for (int i = 0; i < 128; ++i) {
    typedef long double L;  // holds any float sum here, and any product
    const L x = a[i], y = b[i];
    for (int mode = 0; mode < 4; ++mode) {
      CTS_EQ(f[i * 16 + mode], RoundTo<L>(x + y, 0, mode));
      CTS_EQ(f[i * 16 + 4 + mode], RoundTo<L>(x * y, 0, mode));
      const L q = x / y;
      CTS_EQ(f[i * 16 + 8 + mode], RoundTo<L>(q, 0, mode));
    }
    CTS_EQ(f[i * 16 + 12], std::fma(a[i], b[i], a[i])), CTS_EQ(f[i * 16 + 13], a[i] / b[i]);
    CTS_EQ(f[i * 16 + 14], std::sqrt(std::fabs(a[i]))),
        CTS_EQ(f[i * 16 + 15], std::fma(a[i], a[i], -b[i]));
    CTS_EQ(g[i * 6], c[i] + d[i]), CTS_EQ(g[i * 6 + 1], c[i] * d[i]),
        CTS_EQ(g[i * 6 + 2], c[i] / d[i]);
    CTS_EQ(g[i * 6 + 3], std::fma(c[i], d[i], c[i])), CTS_EQ(g[i * 6 + 4], c[i] / d[i]);
    CTS_EQ(g[i * 6 + 5], std::sqrt(std::fabs(c[i])));
  }
}

// Intrinsics: the guide gives absolute or relative errors.
__global__ void Fast(const float* in, float* out) {
  const int i = threadIdx.x;
  const float x = in[i];
  float* o = out + i * 8;
  o[0] = __sinf(x), o[1] = __cosf(x), o[2] = __expf(x), o[3] = __logf(fabsf(x) + 0.01f);
  o[4] = __fdividef(1.0f, x), o[5] = __powf(fabsf(x) + 0.5f, 1.5f), o[6] = __saturatef(x);
  o[7] = __exp10f(x);
}
static void CheckFast() {
  std::vector<float> in;
  for (int i = 0; i < 128; ++i) in.push_back(Argument<float>(-3.1, 3.1, i + 2));
  cts::Buffer<float> a(in), out(128 * 8);
  Fast<<<1, 128>>>(a.get(), out.get());
  CTS_DONE();
  const std::vector<float> o = out.Read();
  for (int i = 0; i < 128; ++i) {
    const double x = in[i], e = std::ldexp(1.0, -24), l = double(std::fabs(in[i]) + 0.01f);
    CTS_TRUE(std::fabs(o[i * 8] - std::sin(x)) <= std::ldexp(1.0, -21));
    CTS_TRUE(std::fabs(o[i * 8 + 1] - std::cos(x)) <= std::ldexp(1.0, -21));
    CTS_TRUE(Ulps(o[i * 8 + 2], std::exp(x)) <= 2 + std::floor(std::fabs(1.173 * x)) + 0.5);
    CTS_TRUE(l > 0.5 && l < 2 ? std::fabs(o[i * 8 + 3] - std::log(l)) <= std::ldexp(1.0, -21) + e
                              : Ulps(o[i * 8 + 3], std::log(l)) <= 3.5);
    CTS_TRUE(Ulps(o[i * 8 + 4], 1 / x) <= 2.5);
    CTS_TRUE(std::fabs(o[i * 8 + 5] / std::pow(double(std::fabs(in[i]) + 0.5f), 1.5) - 1) < 1e-5);
    CTS_EQ(o[i * 8 + 6], x < 0 ? 0.0f : x > 1 ? 1.0f : in[i]);
    CTS_TRUE(Ulps(o[i * 8 + 7], std::pow(10.0, x)) <= 2 + std::floor(std::fabs(2.97 * x)) + 0.5);
  }
}

__global__ void Special(const float* in, float* o) {
  const float zero = in[0], one = in[1], infinity = in[2], nan = in[3], tiny = in[4];
  o[0] = expf(infinity), o[1] = expf(-infinity), o[2] = logf(zero), o[3] = logf(-one),
  o[4] = sqrtf(-one);
  o[5] = sqrtf(-zero), o[6] = sinf(infinity), o[7] = powf(nan, zero), o[8] = powf(one, nan);
  o[9] = fmaxf(nan, one), o[10] = fminf(one, nan), o[11] = atanf(infinity), o[12] = one / zero;
  o[13] = zero / zero, o[14] = tiny * 0.5f * 2.0f, o[15] = tiny + tiny,
  o[16] = powf(-2.0f * one, 3.0f);
  o[17] = fmodf(one, infinity), o[18] = hypotf(infinity, nan), o[19] = roundf(-0.4f * one);
  o[20] = rintf(2.5f * one), o[21] = roundf(2.5f * one), o[22] = erff(infinity),
  o[23] = tanhf(-infinity);
  o[24] = float(isnan(nan)) + 10 * float(isinf(-infinity)) + 100 * float(isfinite(one)) +
          1000 * float(signbit(-zero));
  int exponent = 0;
  float whole = 0;
  o[25] = frexpf(12.0f * one, &exponent), o[26] = float(exponent),
  o[27] = modff(-3.75f * one, &whole);
  o[28] = whole, o[29] = ldexpf(one, -149), o[30] = float(ilogbf(10.0f * one)),
  o[31] = nextafterf(one, 2.0f) - one;
}
static void CheckSpecial() {
  const float i = INFINITY, n = NAN, denormal = std::ldexp(1.0f, -148);
  cts::Buffer<float> in(std::vector<float>{0, 1, i, n, denormal}), out(32);
  Special<<<1, 1>>>(in.get(), out.get());
  CTS_DONE();
  const float expected[32] = {i,        0,
                              -i,       n,
                              n,        -0.0f,
                              n,        1,
                              1,        1,
                              1,        float(std::atan(i)),
                              i,        n,
                              denormal, 2 * denormal,
                              -8,       1,
                              i,        -0.0f,
                              2,        3,
                              1,        -1,
                              1111,     0.75f,
                              4,        -0.75f,
                              -3,       std::ldexp(1.0f, -149),
                              3,        std::ldexp(1.0f, -23)};
  const std::vector<float> got = out.Read();
  for (int k = 0; k < 32; ++k) {
    const bool right =
        std::isnan(expected[k])
            ? std::isnan(got[k])
            : got[k] == expected[k] && std::signbit(got[k]) == std::signbit(expected[k]);
    cts::Check(right, __FILE__, __LINE__, "special value " + std::to_string(k), cts::Text(got[k]),
               cts::Text(expected[k]));
  }
}

int main() {
  for (const Function& f : functions) CheckFunction(f);
  CheckRounding();
  CheckFast();
  CheckSpecial();
  return cts::Finish();
}
