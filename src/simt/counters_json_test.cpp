// SPDX-License-Identifier: Apache-2.0
// Goal: counters survive the way through JSON, launches of one configuration are added up, and what
// a hostile process may send is refused. Method: records with a different number in every field.
#include "simt/counters_json.h"

#include <gtest/gtest.h>

namespace kuafu::simt {
namespace {

MemoryCount SomeMemory(uint64_t n) { return {n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6}; }

LaunchCount Some() {
  LaunchCount launch;
  launch.kernel = "k<float>(float*)";
  launch.grid[0] = 7, launch.grid[1] = 2, launch.grid[2] = 1;
  launch.block[0] = 128, launch.block[1] = launch.block[2] = 1;
  launch.warp_width = 128;
  launch.warps_per_block = 1;
  launch.registers = 40;
  launch.static_shared_bytes = 1024;
  launch.dynamic_shared_bytes = 512;
  launch.blocks = 14;
  launch.critical_path_sum = 9000;
  launch.critical_path_max = 700;
  launch.stretch_max = 300;
  launch.atomic_hottest = 12;
  launch.memory_bytes = 1300;
  launch.warps_by_class[static_cast<size_t>(InstClass::kFp32)] = 5;
  Count count;
  count.warps = 11, count.lanes = 12, count.branches = 13, count.diverged = 14;
  count.load = SomeMemory(100), count.store = SomeMemory(200), count.atomic = SomeMemory(300);
  count.atomic_serial = 15, count.shared_requests = 16, count.shared_passes = 17;
  count.shared_passes_ideal = 18, count.shared_bytes = 19, count.local_requests = 20;
  count.constant_requests = 21, count.barriers = 22, count.barrier_wait = 23, count.stall = 24;
  count.stall_long = 25;
  launch.total = count;
  launch.lines.push_back({"k.cu", {0, 5, 0}, count});
  return launch;
}

TEST(CountersJsonTest, EveryFieldComesBack) {
  const Json sent = CountersToJson({Some()});
  const Result<Json> text = ParseJson(DumpJson(sent));
  ASSERT_TRUE(text.ok());
  const Result<std::vector<LaunchCount>> back = CountersFromJson(text.value());
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(DumpJson(CountersToJson(back.value())), DumpJson(sent));
  const LaunchCount& launch = back.value().at(0);
  EXPECT_EQ(launch.kernel, "k<float>(float*)");
  EXPECT_EQ(launch.grid[1], 2u);
  EXPECT_EQ(launch.registers, 40u);
  EXPECT_EQ(launch.launches, 1u);
  EXPECT_EQ(launch.memory_bytes, 1300u);
  EXPECT_EQ(launch.total.load.dram, 106u);
  EXPECT_EQ(launch.lines.at(0).count.atomic.sectors, 301u);
  EXPECT_EQ(launch.lines.at(0).count.stall, 24u);
  EXPECT_EQ(launch.lines.at(0).count.stall_long, 25u);
  EXPECT_EQ(launch.warps_by_class[static_cast<size_t>(InstClass::kFp32)], 5u);
}

TEST(CountersJsonTest, LaunchesOfOneConfigurationAddUp) {
  LaunchCount other = Some();
  other.critical_path_max = 900;
  LaunchCount bigger = Some();
  bigger.grid[0] = 8;
  const std::vector<LaunchCount> merged = Merge({Some(), bigger, other});
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].launches, 2u);
  EXPECT_EQ(merged[0].blocks, 28u);
  EXPECT_EQ(merged[0].total.warps, 22u);
  EXPECT_EQ(merged[0].lines.size(), 1u);
  EXPECT_EQ(merged[0].lines[0].count.load.bytes, 206u);
  EXPECT_EQ(merged[0].critical_path_max, 900u);
  EXPECT_EQ(merged[1].launches, 1u);
}

TEST(CountersJsonTest, TheLinesThatRanMostAreKept) {
  LaunchCount launch = Some();
  launch.lines.clear();
  for (uint32_t i = 0; i < 2000; ++i) {
    LineCount line;
    line.line.line = i + 1;
    line.count.warps = i;
    launch.lines.push_back(line);
  }
  const Json json = CountersToJson({launch});
  EXPECT_EQ(json[0]["lines"].size(), kJsonLinesMax);
  EXPECT_EQ(json[0]["lines"][0]["line"], 2000);
}

TEST(CountersJsonTest, GarbageIsRefused) {
  EXPECT_FALSE(CountersFromJson(Json()).ok());
  EXPECT_FALSE(CountersFromJson(Json::object()).ok());
  EXPECT_FALSE(CountersFromJson(Json::array({1})).ok());
  const Json good = CountersToJson({Some()});
  for (const char* key : {"kernel", "grid", "block", "classes", "lines", "total"}) {
    Json bad = good;
    bad[0][key] = -1;
    EXPECT_FALSE(CountersFromJson(bad).ok()) << key;
    bad[0].erase(key);
    EXPECT_FALSE(CountersFromJson(bad).ok()) << key;
  }
  Json bad = good;
  bad[0]["lines"][0]["count"]["warps"] = "many";
  EXPECT_FALSE(CountersFromJson(bad).ok());
  bad = good;
  bad[0]["warp_width"] = uint64_t{1} << 40;
  EXPECT_FALSE(CountersFromJson(bad).ok());
  bad = good;
  for (size_t i = 0; i <= kJsonKernelsMax; ++i) bad.push_back(good[0]);
  EXPECT_FALSE(CountersFromJson(bad).ok());
}

}  // namespace
}  // namespace kuafu::simt
