// SPDX-License-Identifier: Apache-2.0
// Goal: occupancy is what the vendor's calculator says. Method: cases worked out from the rules
// that cuda_occupancy.h publishes; monotonicity over all needs; assumptions are named.
#include "device/occupancy.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kuafu::device {
namespace {

Occupancy Of(const char* name, uint32_t threads, uint32_t registers, uint64_t shared_bytes) {
  return FindOccupancy(*FindProfile(name),
                       {.threads = threads, .registers = registers, .shared_bytes = shared_bytes});
}

TEST(OccupancyTest, WarpsAndBlocksLimit) {
  const Occupancy full = Of("a100", 256, 32, 0);
  EXPECT_EQ(full.blocks_per_sm, 8);
  EXPECT_EQ(full.limiter, "warps");
  EXPECT_EQ(full.theoretical(), 1.0);
  const Occupancy small = Of("h100", 32, 16, 0);
  EXPECT_EQ(small.blocks_per_sm, 32);
  EXPECT_EQ(small.limiter, "blocks");
  EXPECT_EQ(small.theoretical(), 0.5);
  EXPECT_EQ(Of("rtx4090", 32, 16, 0).blocks_per_sm, 24);
  EXPECT_EQ(Of("rtx4090", 1024, 16, 0).blocks_per_sm, 1);  // 48 warps hold one block of 32
  EXPECT_EQ(Of("rtx4090", 768, 16, 0).blocks_per_sm, 2);
  EXPECT_EQ(Of("a100", 100, 16, 0).warps_per_block, 4);
}

// 64 K registers: 33 are allotted as 40 a thread, because a warp gets multiples of 256.
TEST(OccupancyTest, RegistersAreAllottedByWarpAndPart) {
  EXPECT_EQ(Of("a100", 256, 32, 0).by_registers, 8);
  EXPECT_EQ(Of("a100", 256, 33, 0).by_registers, 6);
  EXPECT_EQ(Of("a100", 256, 40, 0).by_registers, 6);
  EXPECT_EQ(Of("a100", 256, 64, 0).by_registers, 4);
  EXPECT_EQ(Of("a100", 256, 64, 0).limiter, "registers");
  EXPECT_EQ(Of("a100", 256, 128, 0).by_registers, 2);
  EXPECT_EQ(Of("a100", 256, 255, 0).by_registers, 1);
  EXPECT_EQ(Of("a100", 1024, 65, 0).blocks_per_sm, 0) << "too many resources requested";
  EXPECT_EQ(Of("a100", 32, 255, 0).by_registers, 2);  // a block of one warp counts as four
  EXPECT_EQ(Of("a100", 96, 168, 0).by_registers, 3);  // 5376 a warp: three in each part
  EXPECT_EQ(Of("a100", 256, 0, 0).limiter, "warps") << "not known: no limit";
}

TEST(OccupancyTest, SharedMemoryHasOneReservedKilobyteABlock) {
  EXPECT_EQ(Of("a100", 128, 32, 48 << 10).blocks_per_sm, 3);  // 49 KiB each of 164
  EXPECT_EQ(Of("a100", 128, 32, 48 << 10).limiter, "shared memory");
  EXPECT_EQ(Of("a100", 128, 32, 163 << 10).blocks_per_sm, 1);
  EXPECT_EQ(Of("a100", 128, 32, 164 << 10).blocks_per_sm, 0);
  EXPECT_EQ(Of("h100", 128, 32, 227 << 10).blocks_per_sm, 1);
  EXPECT_EQ(Of("h100", 128, 32, 75 << 10).blocks_per_sm, 3);     // 76 of 228
  EXPECT_EQ(Of("rtx4090", 128, 32, 24 << 10).blocks_per_sm, 4);  // 25 of 100
  EXPECT_EQ(Of("a100", 32, 16, 1).by_shared, 145);               // 1152 bytes
}

TEST(OccupancyTest, L1GetsWhatTheSmallestFittingSharedSizeLeaves) {
  EXPECT_EQ(Of("a100", 256, 32, 0).l1_bytes, 192u << 10);
  EXPECT_EQ(Of("a100", 1024, 32, 3 << 10).l1_bytes, (192u - 8) << 10);  // 2 blocks of 4 KiB
  EXPECT_EQ(Of("a100", 128, 32, 48 << 10).l1_bytes, (192u - 164) << 10);
  EXPECT_EQ(Of("h100", 128, 32, 227 << 10).l1_bytes, (256u - 228) << 10);
}

TEST(OccupancyTest, MoreNeedsNeverGiveMoreBlocks) {
  for (const Profile& profile : Profiles()) {
    for (uint32_t threads = 32; threads <= 1024; threads += 96) {
      for (uint32_t registers = 16; registers <= 255; registers += 13) {
        for (uint64_t shared = 0; shared < 72 << 10; shared += 5000) {
          const auto blocks = [&](uint32_t t, uint32_t r, uint64_t s) {
            return FindOccupancy(profile, {.threads = t, .registers = r, .shared_bytes = s})
                .blocks_per_sm;
          };
          const int here = blocks(threads, registers, shared);
          ASSERT_GE(here, blocks(threads + 32, registers, shared)) << profile.name;
          ASSERT_GE(here, blocks(threads, registers + 1, shared)) << profile.name;
          ASSERT_GE(here, blocks(threads, registers, shared + 1000)) << profile.name;
        }
      }
    }
  }
}

TEST(OccupancyTest, FiguresThatAreNotPublicAreNamed) {
  EXPECT_TRUE(Of("h100", 256, 32, 0).assumed.empty());
  const Occupancy s4000 = Of("mtt-s4000", 256, 32, 0);
  EXPECT_EQ(s4000.warps_per_block, 2);
  const auto& assumed = s4000.assumed;
  EXPECT_NE(std::find(assumed.begin(), assumed.end(), "registers/SM"), assumed.end());
  EXPECT_NE(std::find(assumed.begin(), assumed.end(), "threads/SM"), assumed.end());
  EXPECT_EQ(std::find(assumed.begin(), assumed.end(), "shared memory/SM"), assumed.end());
}

TEST(OccupancyTest, EveryProfileOfNvidiaHasItsSmModel) {
  for (const Profile& profile : Profiles()) {
    bool assumed = false;
    const SmModel& sm = SmModelOf(profile, &assumed);
    EXPECT_EQ(assumed, profile.musa) << profile.name;
    if (profile.musa) continue;
    EXPECT_EQ(sm.warps_per_sm * 32, profile.threads_per_sm_max) << profile.name;
    EXPECT_EQ(sm.blocks_per_sm, profile.blocks_per_sm_max) << profile.name;
    EXPECT_EQ(sm.shared_kib[9], profile.shared_kib_per_sm) << profile.name;
  }
}

}  // namespace
}  // namespace kuafu::device
