// SPDX-License-Identifier: Apache-2.0
// Goal: the modelled cache keeps what fits, forgets what was unused for longest, and counts by
// sector. Method: sequences whose hits are known, at sizes of a few lines and of a whole L2.
#include "simt/cache.h"

#include <gtest/gtest.h>

namespace kuafu::simt {
namespace {

TEST(CacheTest, SectorsOfALineAreFilledOneByOne) {
  SectorCache cache(4096, 4);
  EXPECT_EQ(cache.Read(7, 0b0001), 0u);
  EXPECT_EQ(cache.Read(7, 0b0011), 0b0001u);
  EXPECT_EQ(cache.Read(7, 0b1111), 0b0011u);
  EXPECT_EQ(cache.Read(8, 0b1111), 0u);
}

TEST(CacheTest, TheLeastRecentlyUsedLineGoes) {
  SectorCache cache(2 * SectorCache::kLineBytes, 2);  // one set of two
  cache.Read(1, 1);
  cache.Read(2, 1);
  cache.Read(1, 1);
  cache.Read(3, 1);  // in the place of 2
  EXPECT_EQ(cache.Read(1, 1), 1u);
  EXPECT_EQ(cache.Read(3, 1), 1u);
  EXPECT_EQ(cache.Read(2, 1), 0u);
}

TEST(CacheTest, ProbeBringsNothingIn) {
  SectorCache cache(4096, 4);
  EXPECT_EQ(cache.Probe(5, 1), 0u);
  EXPECT_EQ(cache.Read(5, 1), 0u);
  EXPECT_EQ(cache.Probe(5, 3), 1u);
}

TEST(CacheTest, AWrittenSectorIsDirtyOnceAndReadable) {
  SectorCache cache(4096, 4);
  EXPECT_EQ(cache.Read(5, 0b0010), 0u);
  EXPECT_EQ(cache.Write(5, 0b0011), 0u);
  EXPECT_EQ(cache.Write(5, 0b0110), 0b0010u);
  EXPECT_EQ(cache.Read(5, 0b1111), 0b0111u);
}

TEST(CacheTest, ClearForgetsEverything) {
  SectorCache cache(4096, 4);
  cache.Write(5, 15);
  cache.Clear();
  EXPECT_EQ(cache.Read(5, 15), 0u);
  EXPECT_EQ(cache.Write(5, 15), 0u);
}

TEST(CacheTest, WithoutBytesNothingIsFound) {
  SectorCache cache(0, 16);
  cache.Read(1, 15);
  cache.Write(1, 15);
  EXPECT_EQ(cache.Read(1, 15), 0u);
  EXPECT_EQ(cache.Probe(1, 15), 0u);
  EXPECT_EQ(cache.Write(1, 15), 0u);
}

// Hashed sets fill unevenly: three quarters of the capacity stay almost whole, ten times it leaves
// next to nothing for a second pass.
TEST(CacheTest, AWorkingSetThatFitsStaysAndOneThatDoesNotGoes) {
  const uint64_t bytes = 1 << 20;
  for (const uint64_t lines : {bytes / 128 * 3 / 4, bytes / 128 * 10}) {
    SectorCache cache(bytes, 16);
    uint64_t hits = 0;
    for (int pass = 0; pass < 2; ++pass) {
      hits = 0;
      for (uint64_t i = 0; i < lines; ++i) hits += cache.Read(i, 15) == 15;
    }
    if (lines < bytes / 128) {
      EXPECT_GT(hits, lines * 95 / 100);
    } else {
      EXPECT_LT(hits, lines / 100);
    }
  }
}

}  // namespace
}  // namespace kuafu::simt
