// SPDX-License-Identifier: Apache-2.0
// Goal: every implementation gives the product, whatever the sizes, strides and threads. Method:
// each one that this machine can run against the reference; bits where bits are promised.
#include "ops/gemm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/rng.h"

namespace kuafu::ops {
namespace {

template <class T>
T Draw(SplitMix64& rng) {
  if constexpr (std::is_same_v<T, BFloat>)
    return {static_cast<uint16_t>(
        std::bit_cast<uint32_t>(static_cast<float>(rng.Uniform() - 0.5)) >> 16)};
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(rng.Uniform() - 0.5);
  else
    return static_cast<T>(rng.Next());
}

template <class P>
class GemmTest : public ::testing::Test {
 protected:
  using A = typename P::A;
  using B = typename P::B;
  using C = typename P::C;

  template <class T>
  static std::vector<T> Values(int64_t count, uint64_t seed) {
    SplitMix64 rng(seed);
    std::vector<T> values(static_cast<size_t>(count));
    for (T& v : values) v = Draw<T>(rng);
    return values;
  }
  static void ExpectClose(const std::vector<C>& got, const std::vector<C>& want, int64_t k,
                          const std::string& what) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      if constexpr (std::is_integral_v<C>) {
        ASSERT_EQ(got[i], want[i]) << what << " element " << i;
      } else {
        // Terms are below 1/4: a serial sum of k is off by at most k^2 / 8 roundings of 2^-24.
        const double allowed = static_cast<double>(std::numeric_limits<C>::epsilon()) *
                               (1 + 0.25 * static_cast<double>(k) * std::sqrt(k));
        ASSERT_NEAR(got[i], want[i], allowed) << what << " element " << i;
      }
    }
  }
  // All that this machine can run, but for the reference.
  static std::vector<Cpu> Machines() {
    std::vector<Cpu> machines;
    for (const char* isa : {"avx2", "avx512"}) machines.push_back(CpuUpTo(isa));
    return machines;
  }
  const Cpu reference_ = CpuUpTo("reference");
};

using Precisions = ::testing::Types<F32, F64, BF16, U8S8>;
TYPED_TEST_SUITE(GemmTest, Precisions);

TYPED_TEST(GemmTest, SizesThatFillNoTile) {
  using P = TypeParam;
  const int64_t sizes[][3] = {{1, 1, 1},   {1, 50, 3},   {7, 47, 5},    {8, 48, 384},  {9, 49, 385},
                              {13, 1, 31}, {33, 250, 2}, {6, 16, 1537}, {64, 97, 770}, {2, 700, 9}};
  for (const auto& [m, n, k] : sizes) {
    const auto a = TestFixture::template Values<typename P::A>(m * k, 1);
    const auto b = TestFixture::template Values<typename P::B>(k * n, 2);
    const auto old = TestFixture::template Values<typename P::C>(m * n, 3);
    for (const bool accumulate : {false, true}) {
      auto want = old;
      Gemm<P>({a.data(), m, k, k, 1}, {b.data(), k, n, n, 1}, {want.data(), m, n, n},
              {.accumulate = accumulate, .cpu = &this->reference_});
      for (const Cpu& cpu : TestFixture::Machines()) {
        const std::string what = std::to_string(m) + "x" + std::to_string(n) + "x" +
                                 std::to_string(k) + (cpu.avx512 ? " avx512" : " avx2");
        auto got = old;
        Gemm<P>({a.data(), m, k, k, 1}, {b.data(), k, n, n, 1}, {got.data(), m, n, n},
                {.accumulate = accumulate, .cpu = &cpu});
        TestFixture::ExpectClose(got, want, k, what);
        const PackedMatrix packed = PackB<P>({b.data(), k, n, n, 1}, &cpu);
        auto again = old;
        Gemm<P>({a.data(), m, k, k, 1}, packed, {again.data(), m, n, n},
                {.accumulate = accumulate, .cpu = &cpu});
        EXPECT_EQ(again, got) << what << ", packed";
      }
    }
  }
}

TYPED_TEST(GemmTest, TransposedAndStridedMatrices) {
  using P = TypeParam;
  const int64_t m = 19, n = 101, k = 43, pad = 5;
  const auto a = TestFixture::template Values<typename P::A>(k * (m + pad), 1);
  const auto b = TestFixture::template Values<typename P::B>(n * (k + pad), 2);
  const MatrixView<typename P::A> left{a.data(), m, k, 1, m + pad};
  const MatrixView<typename P::B> right{b.data(), k, n, 1, k + pad};
  std::vector<typename P::C> want(static_cast<size_t>(m * n));
  Gemm<P>(left, right, {want.data(), m, n, n}, {.cpu = &this->reference_});
  for (const Cpu& cpu : TestFixture::Machines()) {
    // Nothing beside the rows of C is written.
    std::vector<typename P::C> wide(static_cast<size_t>(m * (n + pad)), typename P::C{77});
    Gemm<P>(left, right, {wide.data(), m, n, n + pad}, {.cpu = &cpu});
    std::vector<typename P::C> got;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n + pad; ++j) {
        const auto value = wide[static_cast<size_t>(i * (n + pad) + j)];
        if (j < n)
          got.push_back(value);
        else
          EXPECT_EQ(value, typename P::C{77});
      }
    }
    TestFixture::ExpectClose(got, want, k, "strided");
  }
}

TYPED_TEST(GemmTest, ARowIsTheSameInAnyBatchAndWithAnyNumberOfThreads) {
  using P = TypeParam;
  const int64_t m = 37, n = 500, k = 1601;
  const auto a = TestFixture::template Values<typename P::A>(m * k, 1);
  const auto b = TestFixture::template Values<typename P::B>(k * n, 2);
  os::Team team(3);
  for (const Cpu& cpu : TestFixture::Machines()) {
    std::vector<typename P::C> all(static_cast<size_t>(m * n)), threads = all, row(500);
    Gemm<P>({a.data(), m, k, k, 1}, {b.data(), k, n, n, 1}, {all.data(), m, n, n}, {.cpu = &cpu});
    Gemm<P>({a.data(), m, k, k, 1}, {b.data(), k, n, n, 1}, {threads.data(), m, n, n},
            {.team = &team, .cpu = &cpu});
    EXPECT_EQ(all, threads);
    for (const int64_t i : {0, 5, 36}) {
      Gemm<P>({a.data() + i * k, 1, k, k, 1}, {b.data(), k, n, n, 1}, {row.data(), 1, n, n},
              {.cpu = &cpu});
      EXPECT_TRUE(std::equal(row.begin(), row.end(), all.begin() + i * n)) << "row " << i;
    }
  }
}

TYPED_TEST(GemmTest, NothingToSumIsZeroAndNoRowsAreNothing) {
  using P = TypeParam;
  std::vector<typename P::C> c(6, typename P::C{5});
  Gemm<P>({nullptr, 2, 0, 0, 1}, {nullptr, 0, 3, 3, 1}, {c.data(), 2, 3, 3}, {.accumulate = true});
  EXPECT_EQ(c, std::vector<typename P::C>(6, typename P::C{5}));
  Gemm<P>({nullptr, 2, 0, 0, 1}, {nullptr, 0, 3, 3, 1}, {c.data(), 2, 3, 3}, {});
  EXPECT_EQ(c, std::vector<typename P::C>(6));
  Gemm<P>({nullptr, 0, 4, 4, 1}, {nullptr, 4, 0, 0, 1}, {nullptr, 0, 0, 0}, {});
  EXPECT_EQ(PackB<P>({nullptr, 0, 0, 0, 1}).columns, 0);
}

TEST(GemmF32Test, NotANumberAndInfinitySpreadOverTheirRowOnly) {
  const int64_t m = 10, n = 60, k = 30;
  std::vector<float> a(static_cast<size_t>(m * k), 1.0f), b(static_cast<size_t>(k * n), 1.0f);
  a[3 * k + 7] = std::nanf("");
  a[8 * k + 29] = INFINITY;
  for (const char* isa : {"avx2", "avx512", "reference"}) {
    const Cpu cpu = CpuUpTo(isa);
    std::vector<float> c(static_cast<size_t>(m * n));
    Gemm<F32>({a.data(), m, k, k, 1}, {b.data(), k, n, n, 1}, {c.data(), m, n, n}, {.cpu = &cpu});
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const float value = c[static_cast<size_t>(i * n + j)];
        if (i == 3)
          EXPECT_TRUE(std::isnan(value));
        else
          EXPECT_EQ(value, i == 8 ? INFINITY : 30.0f) << isa << " " << i << " " << j;
      }
    }
  }
}

// Products of 255 and -128 side by side do not fit into 16 bits.
TEST(GemmU8S8Test, ExtremeValuesDoNotSaturate) {
  const int64_t k = 64;
  const std::vector<uint8_t> a(64, 255);
  const std::vector<int8_t> b(64, -128);
  for (const char* isa : {"avx2", "avx512", "reference"}) {
    const Cpu cpu = CpuUpTo(isa);
    int32_t c = 0;
    Gemm<U8S8>({a.data(), 1, k, k, 1}, {b.data(), k, 1, 1, 1}, {&c, 1, 1, 1}, {.cpu = &cpu});
    EXPECT_EQ(c, 64 * 255 * -128) << isa;
  }
}

}  // namespace
}  // namespace kuafu::ops
