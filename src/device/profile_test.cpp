// SPDX-License-Identifier: Apache-2.0
// Goal: targets parse strictly and occupancy follows the published rules. Method: known figures of
// the vendor's occupancy table, and names that must be refused.
#include "device/profile.h"

#include <gtest/gtest.h>

namespace kuafu::device {
namespace {

TEST(ProfileTest, EveryProfileIsATarget) {
  for (const Profile& profile : Profiles()) {
    Result<Target> target = ParseTarget("sim:" + std::string(profile.name));
    ASSERT_TRUE(target.ok()) << profile.name;
    EXPECT_EQ(target.value().profile, &profile);
    EXPECT_EQ(profile.musa && profile.arch <= 220, profile.warp_width == 128) << profile.name;
  }
}

TEST(ProfileTest, UnknownAndRealTargetsAreRefusedWithTheChoices) {
  for (const char* text :
       {"", "h100", "sim:", "sim:h1000", "sim:H100", "cuda:0", "musa:0", "sim:h100 "}) {
    Result<Target> target = ParseTarget(text);
    ASSERT_FALSE(target.ok()) << text;
    EXPECT_NE(target.error().message.find("sim:mtt-s4000"), std::string::npos)
        << target.error().message;
  }
}

TEST(ProfileTest, OccupancyFollowsThePublishedRules) {
  const Profile& a100 = *FindProfile("a100");
  EXPECT_EQ(a100.ResidentBlocks(1024, 0), 108u * 2);
  EXPECT_EQ(a100.ResidentBlocks(32, 0), 108u * 32);         // block limit
  EXPECT_EQ(a100.ResidentBlocks(96, 0), 108u * 21);         // 64 warps / 3
  EXPECT_EQ(a100.ResidentBlocks(100, 0), 108u * 16);        // rounded up to 4 warps
  EXPECT_EQ(a100.ResidentBlocks(128, 48 << 10), 108u * 3);  // 49 KiB each of 164
  const Profile& ada = *FindProfile("rtx4090");
  EXPECT_EQ(ada.ResidentBlocks(1024, 0), 128u);  // 1536 threads hold one block
}

}  // namespace
}  // namespace kuafu::device
