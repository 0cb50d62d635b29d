// SPDX-License-Identifier: Apache-2.0
// half and bfloat16: every value converted, both ways and with each rounding; arithmetic on a grid
// of operands against one rounding of the exact result; comparisons with NaN; pairs. The reference
// is written out here in integers and double, because the host's types are what is under test too.
// MUSA before mp_22 has no bfloat16 in hardware (torch_musa); mp_21 runs it in software.
#include "check.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

typedef __nv_bfloat16 Brain;

// A format: bits of exponent and mantissa.
template <int E, int M>
struct Format {
  static constexpr int kBias = (1 << (E - 1)) - 1;
  static double Value(unsigned bits) {
    const unsigned m = bits & ((1u << M) - 1), e = bits >> M & ((1u << E) - 1);
    const double sign = bits >> 15 ? -1 : 1;
    if (e == (1u << E) - 1) return m ? NAN : sign * INFINITY;
    if (e == 0) return sign * std::ldexp(double(m), 1 - kBias - M);
    return sign * std::ldexp(double(m | 1u << M), int(e) - kBias - M);
  }
  // One rounding of an exact value, to nearest even (0), to zero (1), up (2), down (3).
  static unsigned Round(double v, int mode = 0) {
    const unsigned sign = std::signbit(v) ? 0x8000u : 0u, infinity = ((1u << E) - 1) << M;
    if (std::isnan(v)) return infinity | 1u;  // any NaN
    const double a = std::fabs(v);
    if (std::isinf(v)) return sign | infinity;
    int e = 0;
    std::frexp(a, &e);
    e = std::max(e - 1, 1 - kBias);  // exponent of the leading bit, or of denormals
    const double scaled = std::ldexp(a, M - e), low = std::floor(scaled), rest = scaled - low;
    bool up = false;
    if (mode == 0) up = rest > 0.5 || (rest == 0.5 && std::fmod(low, 2) != 0);
    if (mode == 2) up = rest > 0 && !sign;
    if (mode == 3) up = rest > 0 && sign;
    const double n = low + up;
    if (n == 0) return sign;
    const double value = std::ldexp(n, e - M), most = Value(infinity - 1);
    if (value > most) {
      const bool saturates = mode == 1 || (mode == 2 && sign) || (mode == 3 && !sign);
      return sign | (saturates ? infinity - 1 : infinity);
    }
    if (n < double(1u << M)) return sign | unsigned(n);
    int f = 0;
    std::frexp(value, &f);
    f -= 1;
    return sign | unsigned(f + kBias) << M | (unsigned(std::ldexp(value, M - f)) & ((1u << M) - 1));
  }
  static bool IsNan(unsigned bits) { return (bits & 0x7fffu) > (((1u << E) - 1) << M); }
};
typedef Format<5, 10> Half;
typedef Format<8, 7> Bfloat;

__global__ void WidenHalf(float* out, unsigned* back) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const half h = __ushort_as_half((unsigned short)i);
  out[i] = __half2float(h);
  back[i] = __half_as_ushort(__float2half_rn(out[i]));
}
__global__ void WidenBrain(float* out, unsigned* back) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const Brain b = __ushort_as_bfloat16((unsigned short)i);
  out[i] = __bfloat162float(b);
  back[i] = __bfloat16_as_ushort(__float2bfloat16_rn(out[i]));
}
__global__ void Narrow(const float* in, const double* wide, unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned* o = out + i * 10;
  const float f = in[i];
  o[0] = __half_as_ushort(__float2half(f)), o[1] = __half_as_ushort(__float2half_rz(f));
  o[2] = __half_as_ushort(__float2half_ru(f)), o[3] = __half_as_ushort(__float2half_rd(f));
  o[4] = __bfloat16_as_ushort(__float2bfloat16(f)),
  o[5] = __bfloat16_as_ushort(__float2bfloat16_rz(f));
  o[6] = __bfloat16_as_ushort(__float2bfloat16_ru(f)),
  o[7] = __bfloat16_as_ushort(__float2bfloat16_rd(f));
  o[8] = __half_as_ushort(__double2half(wide[i])),
  o[9] = __bfloat16_as_ushort(__double2bfloat16(wide[i]));
}

constexpr int kGrid = 48, kResults = 12;
__device__ half FromBits(half, unsigned b) { return __ushort_as_half((unsigned short)b); }
__device__ Brain FromBits(Brain, unsigned b) { return __ushort_as_bfloat16((unsigned short)b); }
__device__ unsigned Bits(half v) { return __half_as_ushort(v); }
__device__ unsigned Bits(Brain v) { return __bfloat16_as_ushort(v); }
template <class T>
__global__ void Operations(const unsigned* values, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kGrid * kGrid) return;
  const T a = FromBits(T(), values[i / kGrid]), b = FromBits(T(), values[i % kGrid]);
  const T c = FromBits(T(), values[(i * 7 + 3) % kGrid]);
  unsigned* o = out + i * kResults;
  o[0] = Bits(__hadd(a, b)), o[1] = Bits(__hsub(a, b)), o[2] = Bits(__hmul(a, b));
  o[3] = Bits(__hdiv(a, b)), o[4] = Bits(__hfma(a, b, c)), o[5] = Bits(__hneg(a));
  o[6] = Bits(__habs(a)), o[7] = Bits(__hmax(a, b)), o[8] = Bits(__hmin(a, b));
  o[9] = unsigned(__hlt(a, b)) | unsigned(__hle(a, b)) << 1 | unsigned(__hgt(a, b)) << 2 |
         unsigned(__hge(a, b)) << 3 | unsigned(__heq(a, b)) << 4 | unsigned(__hne(a, b)) << 5 |
         unsigned(__hltu(a, b)) << 6 | unsigned(__hequ(a, b)) << 7 | unsigned(__hneu(a, b)) << 8 |
         unsigned(__hisnan(a)) << 9;
  o[10] = Bits(a + b), o[11] = Bits(a * b);
}

template <class F>
static void Result(unsigned got, double exact, const std::string& what, int line) {
  if (std::isnan(exact)) {
    if (!F::IsNan(got)) cts::Check(false, __FILE__, line, what, cts::Text(got), "a NaN");
    return;
  }
  // The exact sum of a product and an addend may need more digits than double has; such operands
  // are not in the grid.
  const unsigned expected = F::Round(exact);
  if (got != expected)
    cts::Check(false, __FILE__, line, what, cts::Text(got), cts::Text(expected));
  else
    ++cts::Counts().checks;
}
template <class T, class F>
static void CheckOperations(const char* name) {
  const unsigned infinity = F::Round(INFINITY);
  std::vector<unsigned> values = {0,
                                  0x8000,
                                  1,
                                  0x8001,
                                  infinity,
                                  infinity | 0x8000,
                                  infinity | 1,
                                  infinity - 1,
                                  F::Round(1),
                                  F::Round(-1),
                                  F::Round(1) + 1,
                                  F::Round(1) - 1,
                                  F::Round(1.5),
                                  F::Round(3),
                                  F::Round(-0.1)};
  for (unsigned i = 0; int(values.size()) < kGrid; ++i) {
    // Exponents near each other: sums that are not exact need them.
    const unsigned bits = F::Round((double(cts::Mix(i) % 20001) - 10000) / (1 << (i % 9)));
    values.push_back(bits);
  }
  cts::Buffer<unsigned> in(values), out(kGrid * kGrid * kResults);
  Operations<T><<<(kGrid * kGrid + 127) / 128, 128>>>(in.get(), out.get());
  CTS_DONE();
  const std::vector<unsigned> got = out.Read();
  for (int i = 0; i < kGrid * kGrid; ++i) {
    const unsigned ab = values[i / kGrid], bb = values[i % kGrid], cb = values[(i * 7 + 3) % kGrid];
    const double a = F::Value(ab), b = F::Value(bb), c = F::Value(cb);
    const unsigned* o = &got[i * kResults];
    const std::string what = std::string(name) + " of " + cts::Text(ab) + ", " + cts::Text(bb) +
                             ", " + cts::Text(cb) + ": result ";
    Result<F>(o[0], a + b, what + "add", __LINE__), Result<F>(o[1], a - b, what + "sub", __LINE__);
    Result<F>(o[2], a * b, what + "mul", __LINE__),
        Result<F>(o[4], std::fma(a, b, c), what + "fma", __LINE__);
    Result<F>(o[10], a + b, what + "+", __LINE__), Result<F>(o[11], a * b, what + "*", __LINE__);
    // Division is documented as accurate to one unit, not as correctly rounded.
    const double q = a / b;
    if (std::isnan(q) || std::isinf(q) || q == 0)
      Result<F>(o[3], q, what + "div", __LINE__);
    else
      cts::Check(std::abs(int(o[3]) - int(F::Round(q))) <= 1, __FILE__, __LINE__, what + "div",
                 cts::Text(o[3]), cts::Text(F::Round(q)) + " to one unit");
    if (!std::isnan(a)) CTS_EQ(o[5], ab ^ 0x8000u), CTS_EQ(o[6], ab & 0x7fffu);
    // Of a NaN and a number the number is taken; +0 and -0 may be told apart or not.
    if (!(a == 0 && b == 0)) {
      Result<F>(o[7], std::fmax(a, b), what + "max", __LINE__);
      Result<F>(o[8], std::fmin(a, b), what + "min", __LINE__);
    }
    const bool nan = std::isnan(a) || std::isnan(b);
    const unsigned flags =
        unsigned(a < b) | unsigned(a <= b) << 1 | unsigned(a > b) << 2 | unsigned(a >= b) << 3 |
        unsigned(a == b) << 4 | unsigned(!nan && a != b) << 5 | unsigned(nan || a < b) << 6 |
        unsigned(nan || a == b) << 7 | unsigned(nan || a != b) << 8 | unsigned(std::isnan(a)) << 9;
    CTS_EQ(o[9], flags);
  }
}

__global__ void Pairs(float* out) {
  const half2 a = __floats2half2_rn(1.5f, -2.0f),
              b = __halves2half2(__float2half(0.25f), __float2half(8.0f));
  const float2 sum = __half22float2(__hadd2(a, b)), product = __half22float2(__hmul2(a, b));
  const float2 fused = __half22float2(__hfma2(a, b, b));
  const half2 swapped = __lowhigh2highlow(a), low = __low2half2(a), high = __high2half2(a);
  out[0] = sum.x, out[1] = sum.y, out[2] = product.x, out[3] = product.y, out[4] = fused.x,
  out[5] = fused.y;
  out[6] = __low2float(swapped), out[7] = __high2float(swapped), out[8] = __high2float(low);
  out[9] = __low2float(high);
  const __nv_bfloat162 c = __floats2bfloat162_rn(1.5f, -2.0f);
  const float2 d = __bfloat1622float2(__hmul2(c, c));
  out[10] = d.x, out[11] = d.y;
  out[12] = float(__half2int_rn(__float2half(2.5f))),
  out[13] = float(__half2int_rz(__float2half(-2.75f)));
  out[14] = __half2float(__int2half_rn(2049)), out[15] = __half2float(hsqrt(__float2half(2.25f)));
}

int main() {
  {
    cts::Buffer<float> wide(65536);
    cts::Buffer<unsigned> back(65536);
    WidenHalf<<<256, 256>>>(wide.get(), back.get());
    CTS_DONE();
    std::vector<float> w = wide.Read();
    std::vector<unsigned> b = back.Read();
    for (unsigned i = 0; i < 65536; ++i) {
      if (Half::IsNan(i)) {
        CTS_TRUE(std::isnan(w[i]) && Half::IsNan(b[i]));
      } else {
        CTS_EQ(w[i], float(Half::Value(i))), CTS_EQ(b[i], i);
      }
    }
    WidenBrain<<<256, 256>>>(wide.get(), back.get());
    CTS_DONE();
    w = wide.Read(), b = back.Read();
    for (unsigned i = 0; i < 65536; ++i) {
      if (Bfloat::IsNan(i)) {
        CTS_TRUE(std::isnan(w[i]) && Bfloat::IsNan(b[i]));
      } else {
        CTS_EQ(w[i], float(Bfloat::Value(i))), CTS_EQ(b[i], i);
      }
    }
  }
  {
    // Around every kind of boundary: halfway points, the largest, denormals, and what lies between.
    std::vector<float> in;
    std::vector<double> wide;
    for (unsigned i = 0; i < 2048; ++i) {
      const unsigned bits = i * 31;
      const double low = i % 2 ? Half::Value(bits) : Bfloat::Value(bits),
                   high = i % 2 ? Half::Value(bits + 1) : Bfloat::Value(bits + 1);
      double v =
          std::isfinite(low) && std::isfinite(high) ? low + (high - low) * (i / 2 % 5) / 4.0 : low;
      if (i % 3 == 2) v = std::nextafter(float(v), i % 4 < 2 ? INFINITY : -INFINITY);
      in.push_back(float(v));
      // Not a float: double to half must not round twice.
      wide.push_back(i % 3 == 1 && std::isfinite(v) ? v * (1 + 1e-15) : v);
    }
    cts::Buffer<float> f(in);
    cts::Buffer<double> d(wide);
    cts::Buffer<unsigned> out(2048 * 10);
    Narrow<<<16, 128>>>(f.get(), d.get(), out.get());
    CTS_DONE();
    const std::vector<unsigned> got = out.Read();
    for (int i = 0; i < 2048; ++i) {
      const unsigned* o = &got[i * 10];
      if (std::isnan(in[i])) continue;
      for (int mode = 0; mode < 4; ++mode) {
        cts::Equal(
            o[mode], Half::Round(in[i], mode), __FILE__, __LINE__,
            ("float to half of " + cts::Text(in[i]) + ", rounding " + cts::Text(mode)).c_str());
        cts::Equal(
            o[4 + mode], Bfloat::Round(in[i], mode), __FILE__, __LINE__,
            ("float to bfloat16 of " + cts::Text(in[i]) + ", rounding " + cts::Text(mode)).c_str());
      }
      CTS_EQ(o[8], Half::Round(wide[i])), CTS_EQ(o[9], Bfloat::Round(wide[i]));
    }
  }
  CheckOperations<half, Half>("half");
  CheckOperations<Brain, Bfloat>("bfloat16");
  cts::Buffer<float> pairs(16);
  Pairs<<<1, 1>>>(pairs.get());
  CTS_DONE();
  const float expected[16] = {1.75f, 6,  0.375f, -16, 0.625f, -8, -2,   1.5f,
                              1.5f,  -2, 2.25f,  4,   2,      -2, 2048, 1.5f};
  for (int i = 0; i < 16; ++i) CTS_EQ(pairs.Read()[i], expected[i]);
  return cts::Finish();
}
