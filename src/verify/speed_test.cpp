// SPDX-License-Identifier: Apache-2.0
// Goal: a speed compares like with like, is unknown where the models cannot know, and one beyond
// physics is an offence. Method: counters and lists of operators of a copy, by hand.
#include "verify/speed.h"

#include <gtest/gtest.h>

#include "simt/counters_json.h"

namespace kuafu::verify {
namespace {

constexpr int64_t kBytes = int64_t{256} << 20;

const device::Profile& H100() { return *device::FindProfile("h100"); }

// Reads and writes 256 MiB.
simt::LaunchCount Copy() {
  simt::LaunchCount c;
  c.kernel = "copy(float const*, float*)";
  c.grid[0] = kBytes / 4096, c.grid[1] = c.grid[2] = 1;
  c.block[0] = 256, c.block[1] = c.block[2] = 1;
  c.warps_per_block = 8;
  c.registers = 16;
  c.blocks = c.grid[0];
  const auto bytes = static_cast<uint64_t>(kBytes);
  c.total.load = {bytes / 512, bytes / 32, bytes / 128, bytes, 0, 0, bytes / 32};
  c.total.store = c.total.load;
  return c;
}

using List = Result<std::shared_ptr<const task::OperatorList>>;

// `count` elementwise operations over the same bytes.
List Maps(int count) {
  auto list = std::make_shared<task::OperatorList>();
  for (int i = 0; i < count; ++i) {
    task::Operator op{.op = "relu", .kind = task::OperatorKind::kElementwise};
    op.read_bytes = op.written_bytes = kBytes;
    op.uses = {i};
    op.use_bytes = {kBytes};
    op.makes = {i + 1};
    list->operators.push_back(op);
  }
  return std::shared_ptr<const task::OperatorList>(std::move(list));
}

verdict::Speed Speed(const std::vector<simt::LaunchCount>& counts, const List& list,
                     const device::Profile& profile = H100(), int64_t output_bytes = kBytes,
                     std::vector<std::string> operators = {}) {
  const Json json = simt::CountersToJson(counts);
  return SpeedOf({.profile = profile,
                  .counters = json,
                  .reference = list,
                  .as_written = true,
                  .output_bytes = output_bytes,
                  .operators = std::move(operators)});
}

TEST(Speed, OneKernelForThreeOperationsIsThreeTimesAsFast) {
  const verdict::Speed one = Speed({Copy()}, Maps(1));
  ASSERT_TRUE(one.known) << one.why;
  EXPECT_NEAR(one.speedup, 1, 0.1);
  EXPECT_EQ(one.binds, "DRAM");
  EXPECT_EQ(one.kernel, "copy(float const*, float*)");
  EXPECT_EQ(one.label, "modelled");
  const verdict::Speed three = Speed({Copy()}, Maps(3));
  EXPECT_NEAR(three.speedup, 3 * one.speedup, 0.1);
  EXPECT_GT(three.speedup_uncertainty, three.kernel_uncertainty);
  EXPECT_GT(three.speedup_uncertainty, three.eager_uncertainty);
  EXPECT_EQ(WhyImpossible(three), "");
}

TEST(Speed, WhatTheModelsCannotKnowHasAReasonAndNoNumber) {
  const List none = Error{Code::kUnsupported, "a shape depends on values"};
  const verdict::Speed no_list = Speed({Copy()}, none);
  EXPECT_FALSE(no_list.known);
  EXPECT_EQ(no_list.why, "a shape depends on values");
  EXPECT_FALSE(Speed({}, Maps(1)).known);
  EXPECT_FALSE(Speed({Copy()}, Maps(1), H100(), kBytes, {"mm"}).known);
  // Somebody else wrote the rest.
  const verdict::Speed copies = Speed({Copy()}, Maps(1), H100(), 2 * kBytes);
  EXPECT_FALSE(copies.known);
  EXPECT_NE(copies.why.find("fewer bytes"), std::string::npos);
  EXPECT_FALSE(SpeedOf({.profile = H100(), .counters = Json(), .reference = Maps(1)}).known);
}

TEST(Speed, GuessedFiguresOfAGpuWidenBothTimes) {
  const verdict::Speed mtt = Speed({Copy()}, Maps(3), *device::FindProfile("mtt-s4000"));
  ASSERT_TRUE(mtt.known) << mtt.why;
  EXPECT_GT(mtt.speedup_uncertainty, Speed({Copy()}, Maps(3)).speedup_uncertainty * 1.5);
  EXPECT_GT(mtt.speedup, 1);
}

TEST(Speed, FasterThanTheBandwidthIsAnOffence) {
  // 256 MiB, of which 50 may stay in L2, at 3350 GB/s.
  EXPECT_NEAR(FloorUs(H100(), kBytes), (256.0 - 50) * 1048576 / 3350e3, 0.01);
  EXPECT_EQ(FloorUs(*device::FindProfile("mtt-s3000"), kBytes), 0);
  verdict::Speed speed = Speed({Copy()}, Maps(1));
  EXPECT_GT(speed.kernel_ms, speed.floor_ms);
  speed.kernel_ms = speed.floor_ms / 3;
  EXPECT_NE(WhyImpossible(speed).find("at least"), std::string::npos);
  // Within what the model may be wrong: no offence.
  speed.kernel_ms = speed.floor_ms / 1.05;
  EXPECT_EQ(WhyImpossible(speed), "");
}

}  // namespace
}  // namespace kuafu::verify
