// SPDX-License-Identifier: Apache-2.0
// 24 sums of the 32 registers; the others hold three vectors of B and what is broadcast of A.
#include "ops/avx512/gemm.h"

#include <immintrin.h>

#include "ops/gemm_blocked.h"

namespace kuafu::ops::avx512 {
namespace {

struct KernelF32 {
  using P = F32;
  using Left = float;
  using Right = float;
  using Unit = float;
  using Vector = __m512;
  static constexpr int kGroup = 1;
  static constexpr bool kRightAsIs = true;
  static constexpr int kLanes = 16, kRows = 8, kVectors = 3;
  static constexpr int64_t kDepth = 384, kWidth = 240;
  static float ToLeft(float x) { return x; }
  static float ToRight(float x) { return x; }
  static Vector Zero() { return _mm512_setzero_ps(); }
  static Vector Load(const float* p) { return _mm512_loadu_ps(p); }
  static void Store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
  static Vector LoadRight(const float* p) { return _mm512_loadu_ps(p); }
  static Vector Add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static float AddOne(float a, float b) { return a + b; }
  static Vector Step(Vector sum, Unit a, Vector b) {
    return _mm512_fmadd_ps(_mm512_set1_ps(a), b, sum);
  }
};

struct KernelF64 {
  using P = F64;
  using Left = double;
  using Right = double;
  using Unit = double;
  using Vector = __m512d;
  static constexpr int kGroup = 1;
  static constexpr bool kRightAsIs = true;
  static constexpr int kLanes = 8, kRows = 8, kVectors = 3;
  static constexpr int64_t kDepth = 256, kWidth = 144;
  static double ToLeft(double x) { return x; }
  static double ToRight(double x) { return x; }
  static Vector Zero() { return _mm512_setzero_pd(); }
  static Vector Load(const double* p) { return _mm512_loadu_pd(p); }
  static void Store(double* p, Vector v) { _mm512_storeu_pd(p, v); }
  static Vector LoadRight(const double* p) { return _mm512_loadu_pd(p); }
  static Vector Add(Vector a, Vector b) { return _mm512_add_pd(a, b); }
  static double AddOne(double a, double b) { return a + b; }
  static Vector Step(Vector sum, Unit a, Vector b) {
    return _mm512_fmadd_pd(_mm512_set1_pd(a), b, sum);
  }
};

// Pairs of k: vdpbf16ps adds both products to a sum in fp32.
struct KernelBF16 {
  using P = BF16;
  using Left = uint16_t;
  using Right = uint16_t;
  using Unit = uint32_t;
  using Vector = __m512;
  static constexpr int kGroup = 2;
  static constexpr bool kRightAsIs = false;
  static constexpr int kLanes = 16, kRows = 8, kVectors = 3;
  static constexpr int64_t kDepth = 768, kWidth = 240;
  static uint16_t ToLeft(BFloat x) { return x.bits; }
  static uint16_t ToRight(BFloat x) { return x.bits; }
  static Vector Zero() { return _mm512_setzero_ps(); }
  static Vector Load(const float* p) { return _mm512_loadu_ps(p); }
  static void Store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
  static Vector LoadRight(const uint16_t* p) { return _mm512_castsi512_ps(_mm512_loadu_si512(p)); }
  static Vector Add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static float AddOne(float a, float b) { return a + b; }
  static Vector Step(Vector sum, Unit a, Vector b) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a))),
                            reinterpret_cast<__m512bh>(b));
  }
};

// Fours of k: vpdpbusd adds four products to a sum, exactly.
struct KernelU8S8 {
  using P = U8S8;
  using Left = uint8_t;
  using Right = int8_t;
  using Unit = uint32_t;
  using Vector = __m512i;
  static constexpr int kGroup = 4;
  static constexpr bool kRightAsIs = false;
  static constexpr int kLanes = 16, kRows = 8, kVectors = 3;
  static constexpr int64_t kDepth = 1536, kWidth = 240;
  static uint8_t ToLeft(uint8_t x) { return x; }
  static int8_t ToRight(int8_t x) { return x; }
  static Vector Zero() { return _mm512_setzero_si512(); }
  static Vector Load(const int32_t* p) { return _mm512_loadu_si512(p); }
  static void Store(int32_t* p, Vector v) { _mm512_storeu_si512(p, v); }
  static Vector LoadRight(const int8_t* p) { return _mm512_loadu_si512(p); }
  static Vector Add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
  static int32_t AddOne(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
  static Vector Step(Vector sum, Unit a, Vector b) {
    return _mm512_dpbusd_epi32(sum, _mm512_set1_epi32(static_cast<int>(a)), b);
  }
};

}  // namespace

GemmCode<F32> GemmF32() { return Blocked<KernelF32>::Code(); }
GemmCode<F64> GemmF64() { return Blocked<KernelF64>::Code(); }
GemmCode<BF16> GemmBF16() { return Blocked<KernelBF16>::Code(); }
GemmCode<U8S8> GemmU8S8() { return Blocked<KernelU8S8>::Code(); }

}  // namespace kuafu::ops::avx512
