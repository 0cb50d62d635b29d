// SPDX-License-Identifier: Apache-2.0
// Device mathematics against the host's libm in double precision, conversions with a rounding mode,
// integer intrinsics, half and bfloat16. Inputs come from memory, so that the compiler cannot
// answer in advance.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>

__device__ int failed;
#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      if (atomicAdd(&failed, 1) < 40)                                              \
        printf("line %d thread %d: %s\n", __LINE__, int(threadIdx.x), #condition); \
    }                                                                              \
  } while (0)

// One list for both sides: the device's f(x) in float and double, the host's in double.
#define UNARY(F)                                                                                   \
  F(sin)                                                                                           \
  F(cos)                                                                                           \
  F(tan) F(asin) F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(atanh) F(exp) F(exp2) F(expm1) \
      F(log) F(log2) F(log10) F(log1p) F(sqrt) F(cbrt) F(erf) F(erfc) F(tgamma) F(lgamma) F(floor) \
          F(ceil) F(trunc) F(round) F(rint) F(nearbyint) F(fabs) F(j0) F(j1) F(y0) F(y1) F(logb)
#define BINARY(F) F(pow) F(atan2) F(fmod) F(hypot) F(fmin) F(fmax) F(fdim) F(copysign) F(remainder)
constexpr int kRows = 64, kInputs = 16;

#define ONE(name) y[row] = float(name##f(float(x))), z[row++] = name(x);
#define TWO(name) y[row] = float(name##f(float(x), float(w))), z[row++] = name(x, w);
__global__ void Functions(const double* in, float* out_f, double* out_d) {
  const double x = in[threadIdx.x], w = in[(threadIdx.x + 5) % kInputs];
  float y[kRows];
  double z[kRows];
  int row = 0;
  UNARY(ONE) BINARY(TWO) y[row] = rsqrtf(float(x)), z[row++] = rsqrt(x);
  y[row] = exp10f(float(x)), z[row++] = exp10(x);
  y[row] = sinpif(float(x)), z[row++] = sinpi(x);
  y[row] = cospif(float(x)), z[row++] = cospi(x);
  y[row] = fmaf(float(x), 3.0f, float(w)), z[row++] = fma(x, 3.0, w);
  y[row] = erfinvf(float(x) * 0.5f), z[row++] = erfinv(x * 0.5);
  y[row] = normcdff(float(x)), z[row++] = normcdf(x);
  for (int i = 0; i < row; ++i) {
    out_f[i * kInputs + threadIdx.x] = y[i];
    out_d[i * kInputs + threadIdx.x] = z[i];
  }
}

struct Numbers {
  float f[8];
  double d[8];
  int i[8];
  long long l[4];
};

__global__ void Conversions(const Numbers* n) {
  const float* f = n->f;
  const double* d = n->d;
  const int* i = n->i;
  // f: 2.5 -2.5 3.7 -3.7 1e20 -1e20 nan inf; d: the same with 1e30
  CHECK(__float2int_rn(f[0]) == 2 && __float2int_rn(f[1]) == -2 && __float2int_rz(f[2]) == 3 &&
        __float2int_rz(f[3]) == -3);
  CHECK(__float2int_ru(f[2]) == 4 && __float2int_rd(f[3]) == -4 && __float2int_ru(f[3]) == -3 &&
        __float2int_rd(f[2]) == 3);
  CHECK(__float2uint_rn(f[2]) == 4u && __float2uint_rz(f[1]) == 0u && __float2uint_ru(f[0]) == 3u);
  CHECK(__float2ll_rn(f[0]) == 2 && __float2ll_rd(f[1]) == -3 && __float2ull_ru(f[2]) == 4ull);
  CHECK(__float2int_rn(f[4]) == 2147483647 && __float2int_rn(f[5]) == -2147483647 - 1 &&
        __float2int_rz(f[6]) == 0);
  CHECK((int)f[4] == 2147483647 && (unsigned)f[5] == 0u && (int)f[7] == 2147483647);
  CHECK(__double2int_rn(d[0]) == 2 && __double2int_ru(d[0]) == 3 && __double2int_rd(d[1]) == -3 &&
        __double2int_rz(d[3]) == -3);
  CHECK(__double2uint_rn(d[2]) == 4u && __double2ll_rn(d[1]) == -2 &&
        __double2ull_rz(d[2]) == 3ull && __double2ll_rn(d[4]) == 9223372036854775807ll);
  CHECK(__int2float_rn(i[1]) == 16777216.0f &&
        __uint2float_rn(4294967295u - i[0]) == 4294967296.0f && __ll2float_rn(n->l[0]) == 1e18f);
  CHECK(__int2double_rn(i[1]) == 16777217.0 && __ull2double_rn(n->l[0]) == 1e18 &&
        __double2float_rn(d[2]) == 3.7f);
  CHECK(lrintf(f[0]) == 2 && llrint(d[1]) == -2 && lroundf(f[0]) == 3 && llround(d[1]) == -3);
  CHECK(__fadd_rz(f[2], 1e-9f) == f[2] && __fadd_ru(f[2], 1e-9f) > f[2] &&
        __fadd_rd(f[3], -1e-9f) < f[3]);
  CHECK(__fmul_rn(f[0], f[2]) == f[0] * f[2] &&
        __fdiv_ru(1.0f, 3.0f + i[0]) > __fdiv_rd(1.0f, 3.0f + i[0]));
  CHECK(__fsqrt_rn(f[0] * f[0]) == 2.5f && __frcp_rn(f[0]) == 0.4f &&
        __dadd_ru(d[0], 1e-30) > d[0] && __dsqrt_rd(d[0]) < __dsqrt_ru(d[0]));
  CHECK(__fmaf_rz(f[0], f[0], f[0]) == 8.75f && __frsqrt_rn(f[0] + 1.5f) == 0.5f &&
        __saturatef(f[0]) == 1.0f && __saturatef(f[6]) == 0.0f);
  CHECK(fabsf(__expf(f[0]) - expf(f[0])) < 1e-5f && fabsf(__sinf(f[0]) - sinf(f[0])) < 1e-6f &&
        __fdividef(f[0], 2.0f) == 1.25f);
  CHECK(fabsf(__logf(f[0]) - logf(f[0])) < 1e-6f && fabsf(__powf(f[0], 2.0f) - 6.25f) < 1e-5f &&
        fabsf(__exp10f(1.0f + i[0]) - 10) < 1e-5f);
  CHECK(isnan(f[6]) && isinf(f[7]) && !isnan(f[7]) && isfinite(f[0]) && signbit(f[1]) &&
        std::isnan(f[6]) && !isfinite(d[6]));
  CHECK(fmaxf(f[6], 1.0f) == 1.0f && fminf(1.0f, f[6]) == 1.0f && max(f[0], f[2]) == f[2] &&
        min(i[2], i[3]) == -7);
  CHECK(isnormal(f[0]) && !isnormal(f[7]) && !isnormal(d[6]) && !isnormal(f[0] * 0.0f) &&
        isfinite(d[4]) && !isfinite(d[7]) && isinf(-d[7]));
  CHECK(__builtin_isfpclass(f[7], 0x200) && !__builtin_isfpclass(f[7], 0x4) &&
        __builtin_isfpclass(-f[7], 0x4) && __builtin_isfpclass(1e-40f + f[0] * 0.0f, 0x80) &&
        __builtin_isfpclass(f[6], 0x3) && __builtin_isfpclass(f[1] * 0.0f, 0x20));
  int exponent = 0, quotient = 0;
  float whole = 0, s = 0, c = 0;
  CHECK(frexpf(f[0], &exponent) == 0.625f && exponent == 2 && modff(f[3], &whole) == f[3] + 3.0f &&
        whole == -3.0f);
  CHECK(ldexpf(f[0], 3) == 20.0f && scalbnf(f[0], -1) == 1.25f && ilogbf(f[0]) == 1 &&
        nextafterf(1.0f + i[0], 2.0f) > 1.0f);
  sincosf(f[0], &s, &c);
  CHECK(s == sinf(f[0]) && c == cosf(f[0]) && remquof(f[2], 2.0f, &quotient) == f[2] - 4.0f &&
        (quotient & 7) == 2);
  CHECK(norm3df(2.0f + i[0], 3.0f, 6.0f) == 7.0f &&
        rnorm3df(2.0f + i[0], 3.0f, 6.0f) == 1.0f / 7.0f &&
        fabsf(rhypotf(3.0f, 4.0f + i[0]) - 0.2f) < 1e-7f);

  // i: 0 16777217 5 -7 0x12345678 0xf0
  const unsigned u = static_cast<unsigned>(i[4]);
  CHECK(__popc(u) == 13 && __clz(i[4]) == 3 && __ffs(i[5]) == 5 && __brev(u) == 0x1e6a2c48u &&
        __clz(i[0]) == 32 && __ffs(i[0]) == 0);
  CHECK(__popcll(n->l[1]) == 4 && __clzll(n->l[1]) == 8 && __ffsll(n->l[1]) == 53 &&
        __brevll(n->l[1]) == 0xf00ull);
  CHECK(__mulhi(i[4], i[4]) == 21718748 && __umulhi(u, 0xffffffffu) == u - 1 &&
        __mul24(i[2], i[3]) == -35);
  CHECK(__umul64hi(0xffffffffffffffffull - i[0], 2ull) == 1ull && __mul64hi(n->l[2], 3) == -1 &&
        __byte_perm(u, 0xaabbccddu, 0x7531) == 0xaacc1256u);
  CHECK(__funnelshift_l(u, 0x9abcdef0u, 8) == 0xbcdef012u &&
        __funnelshift_r(u, 0x9abcdef0u, 8) == 0xf0123456u);
  CHECK(__dp4a(i[4], 0x01010101, 1) == 0x12 + 0x34 + 0x56 + 0x78 + 1 && __hadd(i[2], i[3]) == -1 &&
        __sad(i[2], i[3], 1u) == 13u);
  CHECK(abs(i[3]) == 7 && llabs(n->l[2]) == 5 && __ldg(&n->i[2]) == 5 && __ldcs(&n->f[0]) == 2.5f);

  const half h = __float2half(f[2]), g = __float2half_rn(0.1f + f[0]);
  CHECK(__half2float(h) == 3.69921875f && __half_as_ushort(h) == 0x4366 && __half2int_rz(h) == 3 &&
        __half2int_rn(h) == 4);
  CHECK(__half2float(__hadd(h, g)) == 6.30078125f || __half2float(__hadd(h, g)) == 6.296875f);
  CHECK(__hgt(h, g) && h > g && !(h < g) && __hmax(h, g) == h && float(-h) == -3.69921875f &&
        __habs(-h) == h);
  CHECK(float(h * g) == __half2float(__hmul(h, g)) &&
        float(__hfma(h, g, h)) ==
            __half2float(__float2half(__half2float(h) * __half2float(g) + __half2float(h))));
  const half2 pair = __floats2half2_rn(1.5f + i[0], -2.0f), twice = __hadd2(pair, pair);
  CHECK(__low2float(twice) == 3.0f && __high2float(twice) == -4.0f &&
        float(__low2half(__hmul2(pair, twice))) == 4.5f);
  CHECK(__half22float2(__hfma2(pair, pair, pair)).x == 3.75f &&
        float(hexp(__float2half(0.0f + i[0]))) == 1.0f && float(hsqrt(__float2half(4.0f))) == 2.0f);
  CHECK(__half2float(__float2half(65520.0f + i[0])) > 65504.0f &&
        __half2float(__float2half(6e-8f)) > 0 && __hisnan(__float2half(f[6])));
  const __nv_bfloat16 b = __float2bfloat16(f[2]);
  CHECK(__bfloat162float(b) == 3.703125f && float(b + b) == 7.40625f &&
        __bfloat162float(__hmul(b, b)) == 13.6875f);
  const __nv_bfloat162 bb = __floats2bfloat162_rn(1.0f + i[0], 2.0f);
  CHECK(__low2float(__hadd2(bb, bb)) == 2.0f && __high2float(__hmul2(bb, bb)) == 4.0f &&
        float(hexp(__float2bfloat16(0.0f + i[0]))) == 1.0f);
}

__global__ void HalfAtomics(half* h, half2* h2, __nv_bfloat16* b) {
  atomicAdd(h, __float2half(0.5f));
  atomicAdd(h2, __floats2half2_rn(1.0f, 0.25f));
  atomicAdd(b, __float2bfloat16(1.0f));
}
__global__ void HalfSum(const half* h, const half2* h2, const __nv_bfloat16* b) {
  CHECK(float(*h) == 32.0f && __low2float(*h2) == 64.0f && __high2float(*h2) == 16.0f &&
        float(*b) == 64.0f);
}

int main() {
  int bad = 0;
  const double x[kInputs] = {0.1,  -0.3, 0.5,   0.75,  -0.9, 1.5,   -2.25, 3.1,
                             0.01, 7.3,  -11.0, 0.999, 20.5, -0.05, 0.33,  4.0};
  double* d_x;
  float *d_f, f[kRows][kInputs];
  double *d_d, d[kRows][kInputs];
  cudaMalloc(&d_x, sizeof x);
  cudaMalloc(&d_f, sizeof f);
  cudaMalloc(&d_d, sizeof d);
  cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
  Functions<<<1, kInputs>>>(d_x, d_f, d_d);
  cudaMemcpy(f, d_f, sizeof f, cudaMemcpyDeviceToHost);
  cudaMemcpy(d, d_d, sizeof d, cudaMemcpyDeviceToHost);
  int row = 0;
  auto compare = [&](const char* name, int column, double in_double, double in_float) {
    auto near = [](double got, double want, double bound) {
      return std::isnan(want)
                 ? std::isnan(got)
                 : got == want || std::fabs(got - want) <= bound * std::fabs(want) + bound * 1e-3;
    };
    if (near(d[row][column], in_double, 1e-14) && near(f[row][column], in_float, 3e-7)) return;
    std::printf("%s(%g): %.17g and %.9g, not %.17g and %.9g\n", name, x[column], d[row][column],
                f[row][column], in_double, in_float);
    ++bad;
  };
#define HOST_ONE(name)                                                                            \
  for (int i = 0; i < kInputs; ++i) compare(#name, i, ::name(x[i]), ::name(double(float(x[i])))); \
  ++row;
#define HOST_TWO(name)                                                                 \
  for (int i = 0; i < kInputs; ++i) {                                                  \
    const double w = x[(i + 5) % kInputs];                                             \
    compare(#name, i, ::name(x[i], w), ::name(double(float(x[i])), double(float(w)))); \
  }                                                                                    \
  ++row;
  UNARY(HOST_ONE) BINARY(HOST_TWO) const double kPi = 3.14159265358979323846;
  for (int i = 0; i < kInputs; ++i)
    compare("rsqrt", i, 1 / std::sqrt(x[i]), 1 / std::sqrt(double(float(x[i]))));
  ++row;
  for (int i = 0; i < kInputs; ++i)
    compare("exp10", i, std::pow(10.0, x[i]), std::pow(10.0, double(float(x[i]))));
  row += 3;
  for (int i = 0; i < kInputs; ++i) {
    const double w = x[(i + 5) % kInputs];
    compare("fma", i, std::fma(x[i], 3.0, w), float(x[i]) * 3.0 + float(w));
  }
  ++row;
  for (int i = 0; i < kInputs; ++i) {
    if (std::fabs(x[i]) < 1.9 && std::fabs(std::erf(d[row][i]) - x[i] * 0.5) > 1e-13)
      std::printf("erfinv(%g)\n", x[i] / 2), ++bad;
  }
  ++row;
  for (int i = 0; i < kInputs; ++i)
    compare("normcdf", i, std::erfc(-x[i] / std::sqrt(2.0)) / 2,
            std::erfc(-float(x[i]) / std::sqrt(2.0)) / 2);
  for (int i = 0; i < kInputs; ++i) {
    const double s = std::fabs(d[row - 4][i] - std::sin(kPi * x[i])),
                 c = std::fabs(d[row - 3][i] - std::cos(kPi * x[i]));
    if (s + c > 1e-12) std::printf("sinpi, cospi(%g)\n", x[i]), ++bad;
  }

  Numbers numbers = {{2.5f, -2.5f, 3.7f, -3.7f, 1e20f, -1e20f, NAN, INFINITY},
                     {2.5, -2.5, 3.7, -3.7, 1e30, -1e30, NAN, INFINITY},
                     {0, 16777217, 5, -7, 0x12345678, 0xf0},
                     {1000000000000000000ll, 0x00f0000000000000ll, -5}};
  Numbers* d_numbers;
  cudaMalloc(&d_numbers, sizeof numbers);
  cudaMemcpy(d_numbers, &numbers, sizeof numbers, cudaMemcpyHostToDevice);
  Conversions<<<1, 2>>>(d_numbers);
  void* sums;
  cudaMalloc(&sums, 12);
  cudaMemset(sums, 0, 12);
  half* sum = static_cast<half*>(sums);
  half2* pair = reinterpret_cast<half2*>(static_cast<char*>(sums) + 4);
  __nv_bfloat16* bsum = reinterpret_cast<__nv_bfloat16*>(static_cast<char*>(sums) + 8);
  HalfAtomics<<<2, 32>>>(sum, pair, bsum);
  HalfSum<<<1, 1>>>(sum, pair, bsum);
  cudaDeviceSynchronize();
  int failures = 0;
  cudaMemcpyFromSymbol(&failures, failed, sizeof failures);
  if (failures) std::printf("%d checks failed\n", failures);
  return bad + failures == 0 ? 0 : 1;
}
