// SPDX-License-Identifier: Apache-2.0
// The allocation table: lookup, validity, quarantine, limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "simt/simt.h"

namespace kuafu::simt {
namespace {

uint64_t U(void* p) { return reinterpret_cast<uint64_t>(p); }

TEST(Memory, FindsAnAllocationByAnyOfItsBytesAndByItsRedZones) {
  Memory m(1 << 20);
  void* a = m.Allocate(100, 16, "a", false).value();
  void* b = m.Allocate(100, 16, "b", false).value();
  uint32_t ia = m.IdOf(U(a)), ib = m.IdOf(U(b));
  EXPECT_NE(ia, 0u);
  EXPECT_NE(ia, ib);
  EXPECT_EQ(m.IdOf(U(a) + 99), ia);
  EXPECT_EQ(m.IdOf(U(a) + 100), ia);
  EXPECT_EQ(m.IdOf(U(a) - 1), ia);
  int local = 0;
  EXPECT_EQ(m.IdOf(U(&local)), 0u);
  EXPECT_EQ(m.Get(ib)->name, "b");
  EXPECT_EQ(m.Get(99), nullptr);
}

TEST(Memory, CountsBytesNeverWritten) {
  Memory m(1 << 20);
  auto* a = static_cast<uint8_t*>(m.Allocate(1000, 16, "a", false).value());
  EXPECT_EQ(m.BytesNeverWritten(a, 1000), 1000u);
  m.MarkInitialized(a + 3, 500);
  EXPECT_EQ(m.BytesNeverWritten(a, 1000), 500u);
  EXPECT_EQ(m.BytesNeverWritten(a + 3, 500), 0u);
  EXPECT_EQ(m.BytesNeverWritten(a + 2, 2), 1u);
  m.MarkInitialized(a, 1000);
  EXPECT_EQ(m.BytesNeverWritten(a, 1000), 0u);
  EXPECT_EQ(m.BytesNeverWritten(a + 990, 20), 10u);
}

TEST(Memory, UninitialisedBytesAreNaNAndInitialisedAreZero) {
  Memory m(1 << 20);
  float* a = static_cast<float*>(m.Allocate(4, 4, "a", false).value());
  float* b = static_cast<float*>(m.Allocate(4, 4, "b", true).value());
  EXPECT_NE(*a, *a);
  EXPECT_EQ(*b, 0.0f);
}

TEST(Memory, LimitCountsWhatIsLive) {
  Memory m(1000);
  void* a = m.Allocate(600, 16, "a", true).value();
  auto more = m.Allocate(600, 16, "b", true);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, Code::kExhausted);
  ASSERT_TRUE(m.Free(a).ok());
  EXPECT_TRUE(m.Allocate(600, 16, "c", true).ok());
  EXPECT_EQ(m.used_bytes(), 600u);
}

TEST(Memory, FreedEntriesKeepTheirNameAndCannotBeFreedTwice) {
  Memory m(1 << 20);
  auto* a = static_cast<uint8_t*>(m.Allocate(64, 16, "gone", true).value());
  EXPECT_FALSE(m.Free(a + 4).ok());
  ASSERT_TRUE(m.Free(a).ok());
  uint32_t id = m.IdOf(U(a));
  ASSERT_NE(id, 0u);
  EXPECT_FALSE(m.Get(id)->live);
  EXPECT_FALSE(m.Free(a).ok());
}

TEST(Memory, RedZonesTellOfHostOverruns) {
  Memory m(1 << 20);
  auto* a = static_cast<uint8_t*>(m.Allocate(64, 16, "a", true).value());
  uint32_t id = m.IdOf(U(a));
  EXPECT_TRUE(m.RedZonesIntact(id));
  a[64] = 1;
  EXPECT_FALSE(m.RedZonesIntact(id));
}

TEST(Memory, ImportedMemoryIsInitialisedAndMayNotOverlap) {
  Memory m(1 << 20);
  std::vector<float> v(16, 1.0f);
  ASSERT_TRUE(m.Import(v.data(), 64, "v").ok());
  EXPECT_EQ(m.BytesNeverWritten(v.data(), 64), 0u);
  EXPECT_FALSE(m.Import(v.data() + 4, 8, "w").ok());
}

TEST(Memory, APatternCostsNothingUntilTouchedAndIsFinite) {
  Memory m(size_t{1} << 40);
  ASSERT_TRUE(m.UsePattern().ok());
  const size_t bytes = size_t{64} << 30;  // more than this machine has
  auto* a = static_cast<float*>(m.Allocate(bytes, 256, "a", false).value());
  float least = 1, most = -1;
  for (size_t i = 0; i < 100; ++i) {
    const float value = a[i * (bytes / 400)];
    least = std::min(least, value);
    most = std::max(most, value);
  }
  EXPECT_GE(least, -1.0f);
  EXPECT_LE(most, 1.0f);
  EXPECT_LT(least, -0.5f);
  EXPECT_GT(most, 0.5f);
  EXPECT_EQ(m.BytesNeverWritten(a, bytes), 0u);
  const uint32_t id = m.IdOf(U(a) + bytes - 1);
  EXPECT_EQ(id, m.IdOf(U(a)));
  EXPECT_TRUE(m.RedZonesIntact(id));
  ASSERT_TRUE(m.Free(a).ok());
}

TEST(Memory, ZerosStandInForThePatternUpToTheRedZone) {
  Memory m(1 << 30);
  ASSERT_TRUE(m.UsePattern().ok());
  auto* zero = static_cast<uint8_t*>(m.Allocate(10000, 256, "zero", true).value());
  auto* other = static_cast<uint8_t*>(m.Allocate(10000, 256, "other", false).value());
  const auto all_zero = [](const uint8_t* p) {
    return std::all_of(p, p + 10000, [](uint8_t b) { return b == 0; });
  };
  EXPECT_TRUE(all_zero(zero));
  EXPECT_FALSE(all_zero(other));
  ASSERT_TRUE(m.Zero(m.IdOf(U(other))).ok());
  EXPECT_TRUE(all_zero(other));
  EXPECT_TRUE(m.RedZonesIntact(m.IdOf(U(other))));
  other[10000] = 0;
  EXPECT_FALSE(m.RedZonesIntact(m.IdOf(U(other))));
}

}  // namespace
}  // namespace kuafu::simt
