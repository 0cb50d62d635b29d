// SPDX-License-Identifier: Apache-2.0
// 12 sums of the 16 registers. bfloat16 is widened and 8-bit integers are made 16 bits long when
// they are packed: there are no such dot products here, and that of bytes (vpmaddubsw) saturates.
#include "ops/avx2/gemm.h"

#include <immintrin.h>

#include "ops/gemm_blocked.h"

namespace kuafu::ops::avx2 {
namespace {

struct OfFloats {
  using Left = float;
  using Right = float;
  using Unit = float;
  using Vector = __m256;
  static constexpr int kGroup = 1;
  static constexpr int kLanes = 8, kRows = 6, kVectors = 2;
  static constexpr int64_t kDepth = 384, kWidth = 240;
  static Vector Zero() { return _mm256_setzero_ps(); }
  static Vector Load(const float* p) { return _mm256_loadu_ps(p); }
  static void Store(float* p, Vector v) { _mm256_storeu_ps(p, v); }
  static Vector LoadRight(const float* p) { return _mm256_loadu_ps(p); }
  static Vector Add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  static float AddOne(float a, float b) { return a + b; }
  static Vector Step(Vector sum, Unit a, Vector b) {
    return _mm256_fmadd_ps(_mm256_set1_ps(a), b, sum);
  }
};

struct KernelF32 : OfFloats {
  using P = F32;
  static constexpr bool kRightAsIs = true;
  static float ToLeft(float x) { return x; }
  static float ToRight(float x) { return x; }
};

struct KernelBF16 : OfFloats {
  using P = BF16;
  static constexpr bool kRightAsIs = false;
  static float Widen(BFloat x) {
    const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  static float ToLeft(BFloat x) { return Widen(x); }
  static float ToRight(BFloat x) { return Widen(x); }
};

struct KernelF64 {
  using P = F64;
  using Left = double;
  using Right = double;
  using Unit = double;
  using Vector = __m256d;
  static constexpr int kGroup = 1;
  static constexpr bool kRightAsIs = true;
  static constexpr int kLanes = 4, kRows = 6, kVectors = 2;
  static constexpr int64_t kDepth = 256, kWidth = 144;
  static double ToLeft(double x) { return x; }
  static double ToRight(double x) { return x; }
  static Vector Zero() { return _mm256_setzero_pd(); }
  static Vector Load(const double* p) { return _mm256_loadu_pd(p); }
  static void Store(double* p, Vector v) { _mm256_storeu_pd(p, v); }
  static Vector LoadRight(const double* p) { return _mm256_loadu_pd(p); }
  static Vector Add(Vector a, Vector b) { return _mm256_add_pd(a, b); }
  static double AddOne(double a, double b) { return a + b; }
  static Vector Step(Vector sum, Unit a, Vector b) {
    return _mm256_fmadd_pd(_mm256_set1_pd(a), b, sum);
  }
};

// Pairs of k: vpmaddwd sums two products of 16-bit integers, of which none here is beyond 2^15.
struct KernelU8S8 {
  using P = U8S8;
  using Left = int16_t;
  using Right = int16_t;
  using Unit = uint32_t;
  using Vector = __m256i;
  static constexpr int kGroup = 2;
  static constexpr bool kRightAsIs = false;
  static constexpr int kLanes = 8, kRows = 6, kVectors = 2;
  static constexpr int64_t kDepth = 768, kWidth = 240;
  static int16_t ToLeft(uint8_t x) { return x; }
  static int16_t ToRight(int8_t x) { return x; }
  static Vector Zero() { return _mm256_setzero_si256(); }
  static Vector Load(const int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static void Store(int32_t* p, Vector v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static Vector LoadRight(const int16_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Vector Add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  static int32_t AddOne(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
  static Vector Step(Vector sum, Unit a, Vector b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_set1_epi32(static_cast<int>(a)), b));
  }
};

}  // namespace

GemmCode<F32> GemmF32() { return Blocked<KernelF32>::Code(); }
GemmCode<F64> GemmF64() { return Blocked<KernelF64>::Code(); }
GemmCode<BF16> GemmBF16() { return Blocked<KernelBF16>::Code(); }
GemmCode<U8S8> GemmU8S8() { return Blocked<KernelU8S8>::Code(); }

}  // namespace kuafu::ops::avx2
