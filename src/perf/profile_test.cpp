// SPDX-License-Identifier: Apache-2.0
// Goal: a profile says what binds, which line it is, and what kind each figure is. Method: counters
// written by hand for kernels whose bounds can be worked out.
#include "perf/profile.h"

#include <gtest/gtest.h>

namespace kuafu::perf {
namespace {

const device::Profile& H100() { return *device::FindProfile("h100"); }

// A copy of 8 MiB by 8192 blocks of 256 threads, every sector from and to DRAM.
simt::LaunchCount Copy() {
  simt::LaunchCount c;
  c.kernel = "copy(float const*, float*)";
  c.grid[0] = 8192, c.grid[1] = c.grid[2] = 1;
  c.block[0] = 256, c.block[1] = c.block[2] = 1;
  c.warps_per_block = 8;
  c.registers = 16;
  c.blocks = 8192;
  const uint64_t warps = 8192 * 8, sectors = (8 << 20) / 32;
  simt::LineCount load{"copy.cu", {0, 3, 0}, {}}, store{"copy.cu", {0, 4, 0}, {}};
  load.count.warps = store.count.warps = warps;
  load.count.lanes = store.count.lanes = warps * 32;
  load.count.load = {warps, sectors, sectors / 4, sectors * 32, 0, 0, sectors};
  store.count.store = {warps, sectors, sectors / 4, sectors * 32, 0, 0, sectors / 2};
  c.lines = {load, store};
  for (const simt::LineCount& line : c.lines) c.total.Add(line.count);
  c.warps_by_class[static_cast<size_t>(simt::InstClass::kMemory)] = 2 * warps;
  c.critical_path_sum = 8192 * 100;
  c.critical_path_max = 100;
  return c;
}

TEST(ProfileTest, ACopyIsBoundByDramAndItsLoad) {
  const std::vector<KernelProfile> kernels = Profiles(H100(), {Copy()});
  ASSERT_EQ(kernels.size(), 1u);
  const KernelProfile& k = kernels[0];
  EXPECT_EQ(k.bounds.binds, Resource::kDram);
  // 12 MiB over 3350 GB/s.
  EXPECT_NEAR(k.bounds.us[static_cast<size_t>(Resource::kDram)], 12.0 * 1048576 / 3.35e6, 0.01);
  EXPECT_EQ(k.occupancy.blocks_per_sm, 8);
  ASSERT_EQ(k.lines.size(), 2u);
  EXPECT_EQ(k.lines[0].line, 3u);
  EXPECT_NEAR(k.lines[0].share, 2.0 / 3, 1e-9);
}

TEST(ProfileTest, BankConflictsMakeSharedMemoryTheBound) {
  simt::LaunchCount c = Copy();
  simt::LineCount line{"copy.cu", {0, 9, 0}, {}};
  line.count.warps = line.count.shared_requests = line.count.shared_passes_ideal = 65536;
  line.count.shared_passes = 65536 * 32;
  c.lines.push_back(line);
  c.total.Add(line.count);
  const KernelProfile k = Profiles(H100(), {c})[0];
  EXPECT_EQ(k.bounds.binds, Resource::kShared);
  EXPECT_NEAR(k.bounds.us[static_cast<size_t>(Resource::kShared)], 65536.0 * 32 / 132 / 1980, 1e-6);
  EXPECT_EQ(k.lines.at(0).line, 9u);
  EXPECT_EQ(k.lines.at(0).share, 1.0);
  EXPECT_NE(Text(H100(), k).find("shared bank conflicts 2031616"), std::string::npos)
      << Text(H100(), k);
}

TEST(ProfileTest, MoreOfAnythingNeverLowersABound) {
  const simt::LaunchCount base = Copy();
  const auto bounds = [&](const simt::LaunchCount& c) {
    return Profiles(H100(), {c})[0].bounds.us;
  };
  const auto before = bounds(base);
  const auto expect_more = [&](auto&& change) {
    simt::LaunchCount c = base;
    change(c);
    const auto after = bounds(c);
    for (size_t i = 0; i < after.size(); ++i) EXPECT_GE(after[i], before[i]) << i;
  };
  expect_more([](auto& c) { c.total.load.dram += 1000; });
  expect_more([](auto& c) { c.total.load.sectors += 1000; });
  expect_more([](auto& c) { c.total.load.lines += 1000; });
  expect_more([](auto& c) { c.total.shared_passes += 1000; });
  expect_more([](auto& c) { c.total.warps += 1000; });
  expect_more([](auto& c) { c.critical_path_sum += 1000; });
  expect_more([](auto& c) { c.registers = 128; });
  expect_more([](auto& c) { c.warps_by_class[1] += 1 << 20; });
}

TEST(ProfileTest, ABlockAloneUsesOneSm) {
  simt::LaunchCount c = Copy();
  c.blocks = 1;
  const auto one = Profiles(H100(), {c})[0].bounds.us;
  const auto all = Profiles(H100(), {Copy()})[0].bounds.us;
  const auto issue = static_cast<size_t>(Resource::kIssue);
  EXPECT_NEAR(one[issue], 132 * all[issue], 1e-9);
}

TEST(ProfileTest, FiguresThatAreNotPublicAreUnknownAndNamed) {
  const device::Profile& s4000 = *device::FindProfile("mtt-s4000");
  const KernelProfile k = Profiles(s4000, {Copy()})[0];
  EXPECT_LT(k.bounds.us[static_cast<size_t>(Resource::kIssue)], 0);
  EXPECT_GT(k.bounds.us[static_cast<size_t>(Resource::kDram)], 0);
  EXPECT_EQ(k.bounds.binds, Resource::kDram);
  const std::string text = Text(s4000, k);
  EXPECT_NE(text.find("assumed: threads/SM"), std::string::npos) << text;
  EXPECT_NE(text.find("issue slots unknown"), std::string::npos) << text;
  const KernelProfile none = Profiles(*device::FindProfile("mtt-s3000"), {Copy()})[0];
  EXPECT_FALSE(none.bounds.known);
  EXPECT_NE(Text(*device::FindProfile("mtt-s3000"), none).find("largest bound"), std::string::npos);
}

TEST(ProfileTest, EveryFigureThatWasNotCountedIsLabelled) {
  const Json json = ToJson(Profiles(H100(), {Copy()})[0]);
  EXPECT_EQ(json["registers_per_thread"]["label"], "estimated");
  for (const char* key : {"occupancy", "modelled", "critical_path", "bounds_us"})
    EXPECT_EQ(json[key]["label"], "modelled") << key;
  EXPECT_EQ(json["counted"]["global_load"]["sectors_per_request"], 4.0);
  EXPECT_EQ(json["counted"]["global_load"]["transactions_per_request"], 1.0);
  EXPECT_EQ(json["lines"][0]["modelled"]["label"], "modelled");
  const std::string text = Text(H100(), Profiles(H100(), {Copy()})[0]);
  for (const char* label : {"(estimated)", "(modelled)"})
    EXPECT_NE(text.find(label), std::string::npos) << text;
}

TEST(ProfileTest, AKernelWithoutCountsIsNoTrouble) {
  simt::LaunchCount empty;
  empty.kernel = "k";
  empty.launches = 0;
  const KernelProfile k = Profiles(H100(), {empty})[0];
  EXPECT_TRUE(k.lines.empty());
  EXPECT_FALSE(Text(H100(), k).empty());
  EXPECT_FALSE(DumpJson(ToJson(k)).empty());
}

}  // namespace
}  // namespace kuafu::perf
