// SPDX-License-Identifier: Apache-2.0
// Goal: modelled times of kernels whose time can be worked out by hand, and monotone where physics
// is. Method: counters written by hand, one resource each; then more of one thing at a time.
#include "perf/time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace kuafu::perf {
namespace {

using simt::Count;
using simt::InstClass;
using simt::LaunchCount;

const device::Profile& H100() { return *device::FindProfile("h100"); }

KernelTime Time(const LaunchCount& c, const device::Profile& profile = H100()) {
  const device::Occupancy o = device::FindOccupancy(
      profile, {.threads = c.block[0],
                .registers = c.registers,
                .shared_bytes = c.static_shared_bytes + c.dynamic_shared_bytes});
  return ModelTime(profile, c, o, TimeConstants());
}

double Alone(const KernelTime& time, Cost cost) { return time.us_alone[static_cast<size_t>(cost)]; }

LaunchCount Blocks(uint32_t blocks, uint32_t threads) {
  LaunchCount c;
  c.grid[0] = blocks, c.grid[1] = c.grid[2] = 1;
  c.block[0] = threads, c.block[1] = c.block[2] = 1;
  c.warps_per_block = threads / 32;
  c.registers = 16;
  c.blocks = blocks;
  return c;
}

void Issue(LaunchCount& c, InstClass cls, uint64_t warps) {
  c.warps_by_class[static_cast<size_t>(cls)] += warps;
  c.total.warps += warps;
}

// `mib` MiB read and as many written, 16 bytes a thread, all of it from and to DRAM.
LaunchCount Copy(uint32_t mib) {
  const uint64_t bytes = uint64_t{mib} << 20, sectors = bytes / 32, warps = bytes / 512;
  LaunchCount c = Blocks(static_cast<uint32_t>(bytes / 4096), 256);
  c.total.load = {warps, sectors, sectors / 4, bytes, 0, 0, sectors};
  c.total.store = c.total.load;
  Issue(c, InstClass::kMemory, 2 * warps);
  Issue(c, InstClass::kInteger, 6 * warps);
  Issue(c, InstClass::kControl, 2 * warps);
  // One load is waited for.
  c.critical_path_sum = c.blocks * 690;
  c.critical_path_max = 690;
  c.total.stall = c.total.stall_long = c.blocks * 630;
  return c;
}

TEST(KernelTime, ACopyTakesItsBytesOverTheBandwidthThatStreams) {
  const KernelTime time = Time(Copy(1024));
  EXPECT_EQ(time.binds, Cost::kDram);
  // 2 GiB over 0.89 x 3350 GB/s.
  const double us = 2147483648.0 / (0.89 * 3350e3);
  EXPECT_NEAR(Alone(time, Cost::kDram), us, 0.01);
  EXPECT_GE(time.us, us);
  EXPECT_LT(time.us, 1.05 * us);
  EXPECT_GT(time.uncertainty, 1.15);
  EXPECT_LT(time.uncertainty, 1.3);
  EXPECT_TRUE(time.guesses.empty());
}

TEST(KernelTime, AnEmptyKernelCostsItsLaunch) {
  LaunchCount c = Blocks(0, 32);
  c.launches = 3;
  const KernelTime time = Time(c);
  EXPECT_EQ(time.binds, Cost::kLaunch);
  EXPECT_DOUBLE_EQ(time.us, 2.76);
  EXPECT_DOUBLE_EQ(time.us_all, 3 * 2.76);
}

TEST(KernelTime, MultiplyAddsTakeTheirPipes) {
  // 8 blocks of 8 warps on each of 132 SMs, 10^5 instructions a warp, 4 warp instructions a clock.
  LaunchCount c = Blocks(132 * 8, 256);
  Issue(c, InstClass::kFp32, 132ull * 64 * 100'000);
  c.critical_path_sum = c.blocks * 400'000;  // 4 clocks each, one after the other
  c.critical_path_max = 400'000;
  c.total.stall = c.blocks * 300'000;
  const KernelTime time = Time(c);
  const double us = 64 * 100'000 / 4.0 / 1980;
  EXPECT_NEAR(Alone(time, Cost::kArithmetic), us, 1e-6 * us);
  EXPECT_NEAR(time.us, us, 0.01 * us);
  // An A100 has half of the lanes for each slot.
  const KernelTime a100 = Time(c, *device::FindProfile("a100"));
  EXPECT_EQ(a100.binds, Cost::kArithmetic);
  EXPECT_NEAR(Alone(a100, Cost::kArithmetic), 10 * 8 * 100'000 / 2.0 / 1410, 1);  // 10 blocks
}

TEST(KernelTime, AWarpAloneTakesItsChain) {
  // 1000 loads, each waited for 625 clocks, and 4 instructions between them.
  LaunchCount c = Blocks(1, 32);
  c.total.load = {1000, 1000, 1000, 4000, 0, 0, 1000};
  Issue(c, InstClass::kMemory, 1000);
  Issue(c, InstClass::kInteger, 3000);
  c.total.stall = c.total.stall_long = 624'000;
  c.critical_path_sum = c.critical_path_max = 628'000;
  const KernelTime time = Time(c);
  EXPECT_EQ(time.binds, Cost::kLatency);
  const TimeConstants k;
  EXPECT_NEAR(time.us,
              (k[TimeConstant::stall_long] * 624'000 + k[TimeConstant::path] * 4000) / 1980, 0.01);
  EXPECT_NEAR(time.tail, 131.0 / 132, 1e-9);
  // Two on different SMs: no longer. 132 x 32 blocks fill the GPU; one more is a second wave.
  const auto many = [&](uint64_t n) {
    LaunchCount m = c;
    m.blocks = n;
    m.total.stall *= n;
    m.total.stall_long *= n;
    m.critical_path_sum *= n;
    return Alone(Time(m), Cost::kLatency);
  };
  EXPECT_DOUBLE_EQ(many(2), many(1));
  EXPECT_DOUBLE_EQ(many(132 * 32), many(1));
  EXPECT_NEAR(many(132 * 32 + 1), 2 * many(1), 1e-9);
}

TEST(KernelTime, BankConflictsTakeTurns) {
  LaunchCount c = Blocks(132 * 10, 256);
  c.total.shared_requests = c.total.shared_passes_ideal = 132ull * 10 * 8 * 100;
  c.total.shared_passes = 32 * c.total.shared_requests;
  Issue(c, InstClass::kMemory, c.total.shared_requests);
  const KernelTime time = Time(c);
  EXPECT_EQ(time.binds, Cost::kShared);
  // 10 blocks an SM, 800 requests each, 32 clocks each.
  EXPECT_NEAR(time.us, 10 * 800 * 32 / 1980.0, 0.5);
}

TEST(KernelTime, AtomicsOnOneAddressTakeTurnsAndOnManyDoNot) {
  LaunchCount c = Blocks(1024, 256);
  const uint64_t requests = 8192;
  c.total.atomic = {requests, requests, requests, 32 * requests * 4, 0, requests, 1};
  c.total.atomic_serial = 32 * requests;
  c.atomic_hottest = 32 * requests;
  Issue(c, InstClass::kAtomic, requests);
  const KernelTime one = Time(c);
  EXPECT_EQ(one.binds, Cost::kAtomics);
  EXPECT_NEAR(one.us, 32.0 * 8192 * 2 / 1980, 1);
  c.total.atomic_serial = requests;
  c.atomic_hottest = 32;
  EXPECT_LT(Time(c).us, 0.05 * one.us);
}

TEST(KernelTime, LaunchesOfOneConfigurationShareTheirCounts) {
  const LaunchCount one = Copy(64);
  LaunchCount ten = one;
  ten.launches = 10;
  ten.blocks *= 10;
  ten.critical_path_sum *= 10;
  for (uint64_t& warps : ten.warps_by_class) warps *= 10;
  for (int i = 1; i < 10; ++i) ten.total.Add(one.total);
  EXPECT_NEAR(Time(ten).us, Time(one).us, 1e-9);
  EXPECT_NEAR(Time(ten).us_all, 10 * Time(one).us, 1e-9);
}

TEST(KernelTime, BlocksThatRanStandForThoseThatWereLeftOut) {
  const LaunchCount all = Copy(1024);
  LaunchCount some = Copy(1);
  some.grid[0] = all.grid[0];
  some.memory_bytes = 2ull << 30;
  EXPECT_TRUE(Time(some).sampled);
  EXPECT_NEAR(Time(some).us, Time(all).us, 0.01 * Time(all).us);
  EXPECT_GT(Time(some).uncertainty, Time(all).uncertainty);
  // All of 8 MiB stay in L2: however often blocks read them, they come from DRAM once.
  some.memory_bytes = 8 << 20;
  EXPECT_NEAR(Alone(Time(some), Cost::kDram), 2 * 8388608.0 / (0.89 * 3350e3), 1e-3);
}

std::vector<LaunchCount> Several() {
  std::vector<LaunchCount> several = {Copy(1), Copy(512), Blocks(1, 32), Blocks(5000, 1024)};
  for (LaunchCount& c : several) {
    Issue(c, InstClass::kFp32, 5000 * c.blocks);
    c.total.shared_requests += 100 * c.blocks;
    c.total.shared_passes += 100 * c.blocks;
    c.total.stall += 10'000 * c.blocks;
    c.critical_path_sum += 15'000 * c.blocks;
    c.critical_path_max += 16'000;
  }
  return several;
}

TEST(KernelTime, MoreOfAnythingIsNeverFaster) {
  using Change = std::function<void(LaunchCount&, uint64_t)>;
  std::vector<std::pair<std::string, Change>> changes = {
      {"bytes from DRAM", [](auto& c, uint64_t n) { c.total.load.dram += n; }},
      {"bytes to DRAM", [](auto& c, uint64_t n) { c.total.store.dram += n; }},
      {"sectors", [](auto& c, uint64_t n) { c.total.load.sectors += n; }},
      {"transactions", [](auto& c, uint64_t n) { c.total.store.lines += n; }},
      {"requests", [](auto& c, uint64_t n) { c.total.load.requests += n; }},
      {"passes", [](auto& c, uint64_t n) { c.total.shared_passes += n; }},
      {"atomics", [](auto& c, uint64_t n) { c.total.atomic_serial += n; }},
      {"contention", [](auto& c, uint64_t n) { c.atomic_hottest += n; }},
      {"chain", [](auto& c, uint64_t n) { c.critical_path_sum += n; }},
      {"longest chain", [](auto& c, uint64_t n) { c.critical_path_max += n; }},
      {"registers",
       [](auto& c, uint64_t n) {
         c.registers += std::min<uint32_t>(static_cast<uint32_t>(n / 100), 200);
       }},
      {"shared memory",
       [](auto& c, uint64_t n) { c.static_shared_bytes += std::min<uint64_t>(n, 40'000); }},
      {"long waits",
       [](auto& c, uint64_t n) {
         c.total.stall += n, c.total.stall_long += n, c.critical_path_sum += n;
       }},
      {"waits", [](auto& c, uint64_t n) { c.total.stall += n, c.critical_path_sum += n; }}};
  for (int i = 1; i < simt::kInstClassCount; ++i) {
    const auto cls = static_cast<InstClass>(i);
    changes.emplace_back(std::string(InstClassName(cls)),
                         [cls](auto& c, uint64_t n) { Issue(c, cls, n); });
  }
  for (const char* gpu : {"h100", "a100", "rtx4090", "mtt-s4000", "mtt-s5000", "mtt-s3000"}) {
    const device::Profile& profile = *device::FindProfile(gpu);
    for (const LaunchCount& base : Several()) {
      for (const auto& [what, change] : changes) {
        double before = Time(base, profile).us;
        for (const uint64_t n : {100ull, 30'000ull, 10'000'000ull}) {
          LaunchCount more = base;
          change(more, n);
          const double us = Time(more, profile).us;
          EXPECT_GE(us, before * (1 - 1e-12)) << gpu << ", " << what << " " << n;
          before = us;
        }
      }
    }
  }
}

TEST(KernelTime, ABetterGpuIsNeverSlower) {
  for (const LaunchCount& c : Several()) {
    const double before = Time(c).us;
    device::Profile better = H100();
    better.dram_gb_per_s *= 1.5;
    EXPECT_LE(Time(c, better).us, before);
    better = H100();
    better.clock_mhz += 300;
    EXPECT_LE(Time(c, better).us, before);
    better = H100();
    better.sm_count += 20;
    EXPECT_LE(Time(c, better).us, before);
  }
}

TEST(KernelTime, FewerResidentBlocksAreNeverFaster) {
  for (const LaunchCount& c : Several()) {
    double before = 0;
    for (int held = 32; held > 0; --held) {
      device::Occupancy o;
      o.blocks_per_sm = held;
      const double us = ModelTime(H100(), c, o, TimeConstants()).us;
      EXPECT_GE(us, before) << held;
      before = us;
    }
  }
}

TEST(KernelTime, GuessedFiguresAreNamedAndWidenTheUncertainty) {
  const KernelTime time = Time(Copy(64), *device::FindProfile("mtt-s5000"));
  EXPECT_FALSE(time.guesses.empty());
  EXPECT_GT(time.uncertainty, 1.5);
  // Bandwidth is public: 128 MiB over 0.89 x 1600 GB/s.
  EXPECT_NEAR(Alone(time, Cost::kDram), 134217728.0 / (0.89 * 1600e3), 0.01);
  const Json json = ToJson(time, TimeConstants());
  EXPECT_EQ(json["label"], "modelled");
  EXPECT_EQ(json["guesses"].size(), time.guesses.size());
}

TEST(KernelTime, ConstantsAreFrozenByTheirHash) {
  for (const TimeConstantInfo& info : kTimeConstants) {
    EXPECT_LE(info.low, info.value) << info.name;
    EXPECT_GE(info.high, info.value) << info.name;
  }
  TimeConstants changed;
  changed.Set(TimeConstant::stall_long, 0.81);
  EXPECT_NE(changed.Hash(), TimeConstants().Hash());
  // A change of constants or form is a decision: it needs another validation.
  EXPECT_EQ(TimeConstants().Hash(), "5bad018c31dc8423f5cf692ac7357b47");
}

}  // namespace
}  // namespace kuafu::perf
