// SPDX-License-Identifier: Apache-2.0
// Address patterns against a loop over the lanes: every shape, size and number of lanes.
#include "simt/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace kuafu::simt {
namespace {

constexpr int kObjects = 4096;

std::vector<int32_t> Indices(int shape, int n, std::mt19937& rng) {
  std::vector<int32_t> v(static_cast<size_t>(n));
  const auto base = static_cast<int32_t>(rng() % 1000);
  for (int i = 0; i < n; ++i) {
    int32_t& x = v[static_cast<size_t>(i)];
    switch (shape) {
      case 0: x = base; break;
      case 1: x = base + i; break;
      case 2: x = base + i / 16 * 3; break;  // rows
      case 3: x = base + i % 16; break;      // columns
      case 4: x = base + 2 * i; break;       // strided
      case 5: x = static_cast<int32_t>(rng() % kObjects); break;
      default: x = base + (i == n / 2 ? 0 : i); break;  // a run with one outlier
    }
  }
  return v;
}

TEST(Pattern, GatherAndScatterEqualALoop) {
  std::mt19937 rng(7);
  for (int size : {1, 2, 4, 8}) {
    for (int components : {1, 2, 3, 4}) {
      const auto bytes = static_cast<size_t>(size * components);
      std::vector<uint8_t> memory(kObjects * bytes);
      for (uint8_t& b : memory) b = static_cast<uint8_t>(rng());
      const auto base = reinterpret_cast<uint64_t>(memory.data());
      for (int shape = 0; shape < 7; ++shape) {
        for (int n : {1, 2, 7, 8, 9, 32, 100, 256, 1024}) {
          std::vector<int32_t> index = Indices(shape, n, rng);
          std::vector<uint64_t> address(static_cast<size_t>(n));
          for (size_t i = 0; i < address.size(); ++i)
            address[i] = base + static_cast<uint64_t>(index[i]) * bytes;
          for (bool indexed : {false, true}) {
            Pattern p;
            const uint64_t high = base + memory.size() - bytes;
            ASSERT_TRUE(indexed ? ClassifyIndex(p, index.data(), n, base, bytes, base, high,
                                                static_cast<uint32_t>(bytes))
                                : ClassifyAddress(p, address.data(), n, base, high, 1,
                                                  static_cast<uint32_t>(bytes)));
            EXPECT_EQ(p.first, address[0]);
            if (n > 1) {
              EXPECT_EQ(p.shape == Pattern::Shape::kSame,
                        shape == 0 || (shape == 2 && n <= 9) || (shape == 6 && n == 2));
            }
            std::vector<uint8_t> out(static_cast<size_t>(n) * bytes);
            uint8_t* dst[4];
            const uint8_t* src[4];
            int stride[4];
            for (int c = 0; c < components; ++c) {
              dst[c] = out.data() + c * n * size;
              src[c] = dst[c];
              stride[c] = size;
            }
            if (p.shape != Pattern::Shape::kSame) {
              Gather(p, n, size, components, dst);
              for (int i = 0; i < n; ++i) {
                for (int c = 0; c < components; ++c)
                  ASSERT_EQ(
                      std::memcmp(
                          dst[c] + i * size,
                          reinterpret_cast<uint8_t*>(address[static_cast<size_t>(i)]) + c * size,
                          static_cast<size_t>(size)),
                      0)
                      << "size " << size << " x " << components << " shape " << shape << " lane "
                      << i << " of " << n;
              }
            }
            for (uint8_t& b : out) b = static_cast<uint8_t>(rng());
            if (rng() % 4 == 0) stride[0] = 0;
            std::vector<uint8_t> wanted = memory;
            for (int i = 0; i < n; ++i) {
              for (int c = 0; c < components; ++c)
                std::memcpy(wanted.data() + (address[static_cast<size_t>(i)] - base) + c * size,
                            src[c] + i * stride[c], static_cast<size_t>(size));
            }
            Scatter(p, n, size, components, src, stride);
            ASSERT_TRUE(wanted == memory);
          }
        }
      }
    }
  }
}

TEST(Pattern, RefusesWhatIsOutsideByOne) {
  constexpr int kN = 40;
  std::vector<int32_t> index(kN);
  std::vector<uint64_t> address(kN);
  const uint64_t base = 1u << 20, low = base - 12, high = base + 396;
  for (int bad : {0, 5, 31, 32, 39}) {
    for (int32_t value : {-4, -3, 99, 100, INT32_MAX, INT32_MIN}) {
      for (int shape : {0, 1}) {
        for (int i = 0; i < kN; ++i) index[static_cast<size_t>(i)] = shape == 0 ? i : i % 8;
        index[static_cast<size_t>(bad)] = value;
        for (size_t i = 0; i < kN; ++i)
          address[i] = base + static_cast<uint64_t>(int64_t{index[i]}) * 4;
        const bool allowed = value >= -3 && value <= 99;
        Pattern p;
        EXPECT_EQ(ClassifyIndex(p, index.data(), kN, base, 4, low, high, 4), allowed) << value;
        EXPECT_EQ(ClassifyAddress(p, address.data(), kN, low, high, 4, 4), allowed) << value;
      }
    }
  }
  // A run that wraps in 32 bits is no run in 64.
  for (int i = 0; i < kN; ++i)
    index[static_cast<size_t>(i)] = static_cast<int32_t>(0x7ffffff0u + static_cast<uint32_t>(i));
  Pattern p;
  EXPECT_FALSE(ClassifyIndex(p, index.data(), kN, 1ull << 40, 1, 1ull << 40,
                             (1ull << 40) + (1ull << 33), 1));
  address.assign(kN, base + 2);
  EXPECT_FALSE(ClassifyAddress(p, address.data(), kN, low, high, 4, 4));
}

}  // namespace
}  // namespace kuafu::simt
