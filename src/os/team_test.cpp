// SPDX-License-Identifier: Apache-2.0
// Goal: every member runs each region once, nothing is lost between regions, sleepers wake up.
#include "os/team.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

namespace kuafu::os {
namespace {

TEST(TeamTest, EachMemberRunsOnceInEachRegion) {
  Team team(3);
  EXPECT_EQ(team.members(), 3);
  std::vector<int64_t> runs(3);  // each is one member's own
  for (int region = 0; region < 400; ++region)
    team.Run([&](int member) { ++runs[static_cast<size_t>(member)]; });
  EXPECT_EQ(runs, std::vector<int64_t>(3, 400));
}

TEST(TeamTest, WhatMembersWriteIsSeenByAllInTheNextRegion) {
  Team team(3);
  std::vector<int64_t> parts(3, 1);
  for (int region = 0; region < 200; ++region) {
    const int64_t sum = std::accumulate(parts.begin(), parts.end(), int64_t{0}) % 1000003;
    team.Run([&](int member) { parts[static_cast<size_t>(member)] = sum + member; });
    for (int64_t member = 0; member < 3; ++member)
      ASSERT_EQ(parts[static_cast<size_t>(member)], sum + member);
  }
}

TEST(TeamTest, MembersThatFellAsleepWakeUp) {
  Team team(2);
  std::atomic<int> runs = 0;
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // far beyond the spinning
    team.Run([&](int) { ++runs; });
  }
  // And a caller that waits so long.
  team.Run([&](int member) {
    if (member == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++runs;
  });
  EXPECT_EQ(runs, 8);
}

TEST(TeamTest, OneMemberIsTheCaller) {
  Team team(0);
  EXPECT_EQ(team.members(), 1);
  std::thread::id ran;
  team.Run([&](int member) {
    EXPECT_EQ(member, 0);
    ran = std::this_thread::get_id();
  });
  EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST(TeamTest, ATeamThatNeverRanEnds) { const Team team(3); }

}  // namespace
}  // namespace kuafu::os
