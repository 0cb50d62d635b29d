// SPDX-License-Identifier: Apache-2.0
// Counted resources with a soft maximum, and the critical path by waves.
#include "perf/time.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/hash.h"
#include "device/assumed.h"
#include "perf/clocks.h"

namespace kuafu::perf {
namespace {

using simt::InstClass;

constexpr int kForm = 1;  // of the model; part of the hash

// One standard deviation of the logarithm of a time that a resource determines alone. Estimates.
double Sigma(Cost cost) {
  switch (cost) {
    case Cost::kDram: return 0.15;
    case Cost::kL2:
    case Cost::kL1:
    case Cost::kShared:
    case Cost::kArithmetic: return 0.25;
    case Cost::kLaunch: return 0.3;
    case Cost::kIssue: return 0.35;
    case Cost::kLatency: return 0.45;
    case Cost::kAtomics: return 0.6;
  }
  return 0.6;
}
constexpr double kSigmaForm = 0.15;     // of the model as a whole
constexpr double kSigmaSampled = 0.25;  // of a launch of which most blocks were left out
constexpr double kSampledFrom = 1.01;
constexpr double kSigmaGuessed = 0.5;  // of a GPU whose figures are guesses

// What one launch does, on average. Where blocks were left out, those that ran stand for all.
struct Launch {
  const simt::LaunchCount& count;
  const TimeConstants& constants;
  double blocks = 0;  // of the grid
  double scale = 1;   // of a launch over what was counted

  Launch(const simt::LaunchCount& c, const TimeConstants& k) : count(c), constants(k) {
    if (c.blocks == 0) return;
    const auto launches = static_cast<double>(std::max<uint64_t>(c.launches, 1));
    const double grid = static_cast<double>(c.grid[0]) * c.grid[1] * c.grid[2];
    blocks = std::max(grid, static_cast<double>(c.blocks) / launches);
    scale = blocks / static_cast<double>(c.blocks);
    sampled = blocks * launches > static_cast<double>(c.blocks) * kSampledFrom;
  }
  bool sampled = false;

  double operator[](TimeConstant c) const { return constants[c]; }
  double Each(double value) const { return value * scale; }
  double Each(uint64_t value) const { return Each(static_cast<double>(value)); }
  double Instructions(InstClass cls) const {
    return Each(count.warps_by_class[static_cast<size_t>(cls)]);
  }
};

double IssueSlots(const Launch& x) {
  double slots = 0;
  for (int i = 1; i < simt::kInstClassCount; ++i) {
    const auto cls = static_cast<InstClass>(i);
    double weight = 1;
    if (cls == InstClass::kInteger) weight = x[TimeConstant::integer];
    if (cls == InstClass::kLogic) weight = x[TimeConstant::logic];
    if (cls == InstClass::kControl) weight = x[TimeConstant::control];
    if (cls == InstClass::kConvert) weight = x[TimeConstant::convert];
    if (cls == InstClass::kSpecial) weight = x[TimeConstant::special];
    slots += weight * x.Instructions(cls);
  }
  // Accesses to local arrays are registers' for a vendor's compiler, mostly.
  const double local =
      std::min(x.Each(x.count.total.local_requests), x.Instructions(InstClass::kMemory));
  return slots - local * (1 - x[TimeConstant::local]);
}

// Clocks from the start of the first block to the end of the last, if only its chain counted.
double LatencyClocks(const Launch& x, double waves) {
  const simt::LaunchCount& c = x.count;
  const auto path = static_cast<double>(c.critical_path_sum);
  if (path <= 0) return 0;
  const double stalled = std::min(static_cast<double>(c.total.stall), path);
  const double long_stalled = std::min(static_cast<double>(c.total.stall_long), stalled);
  const double clocks = long_stalled * x[TimeConstant::stall_long] +
                        (stalled - long_stalled) * x[TimeConstant::stall_short] +
                        (path - stalled) * x[TimeConstant::path];
  const auto blocks = static_cast<double>(c.blocks);
  // The longest block may be the last to start. What it takes more is of unknown kind: the
  // lightest.
  const double longer = std::max(static_cast<double>(c.critical_path_max) - path / blocks, 0.0);
  return std::ceil(waves) * clocks / blocks +
         longer * std::min({x[TimeConstant::path], x[TimeConstant::stall_short],
                            x[TimeConstant::stall_long]});
}

double AtomicClocks(const Launch& x, double sms) {
  const simt::Count& t = x.count.total;
  // Lanes that meet take turns; others of a sector go together.
  const double turns = x.Each(t.atomic.sectors) + x.Each(t.atomic_serial);
  const double left_out =
      x.sampled ? x.scale * static_cast<double>(std::max<uint64_t>(x.count.launches, 1)) : 1;
  return std::max(
      static_cast<double>(x.count.atomic_hottest) * left_out * x[TimeConstant::atomic_same],
      turns / (sms * x[TimeConstant::atomic_units]));
}

// Blocks that were left out would have found in L2 what others brought there: all that the launch
// can reach comes from DRAM once if it stays there, and otherwise once in each wave at most.
double DramBytes(const Launch& x, double waves, double l2_bytes) {
  const simt::Count& t = x.count.total;
  double most = std::numeric_limits<double>::infinity();
  if (x.sampled && x.count.memory_bytes > 0) {
    const auto reach = static_cast<double>(x.count.memory_bytes);
    most = reach <= x[TimeConstant::l2_holds] * l2_bytes ? reach : reach * std::ceil(waves);
  }
  double bytes = 0;
  for (const simt::MemoryCount* m : {&t.load, &t.store, &t.atomic})
    bytes += std::min(x.Each(m->dram) * kSectorBytes, most);
  return bytes;
}

double Uncertainty(const std::array<double, kCostCount>& alone, double power, double more) {
  const double longest = *std::max_element(alone.begin(), alone.end());
  double variance = 0, sum = 0;
  for (int i = 0; i < kCostCount; ++i) {
    const double weight = std::pow(alone[static_cast<size_t>(i)] / longest, power);
    const double sigma = Sigma(static_cast<Cost>(i));
    sum += weight;
    variance += weight * sigma * sigma;
  }
  variance = sum > 0 ? variance / sum : 0;
  variance += kSigmaForm * kSigmaForm + more;
  return std::exp(std::sqrt(variance));
}

}  // namespace

TimeConstants::TimeConstants() {
  for (size_t i = 0; i < kTimeConstantCount; ++i) values_[i] = kTimeConstants[i].value;
}

std::string TimeConstants::Hash() const {
  std::string text = "form " + std::to_string(kForm) + "\n";
  for (size_t i = 0; i < kTimeConstantCount; ++i) {
    char line[96];
    std::snprintf(line, sizeof line, "%s %.6g\n", kTimeConstants[i].name, values_[i]);
    text += line;
  }
  return HashHex(text);
}

std::string_view CostName(Cost cost) {
  switch (cost) {
    case Cost::kIssue: return "issue slots";
    case Cost::kArithmetic: return "arithmetic pipes";
    case Cost::kShared: return "shared memory";
    case Cost::kL1: return "L1";
    case Cost::kL2: return "L2";
    case Cost::kDram: return "DRAM";
    case Cost::kAtomics: return "atomics";
    case Cost::kLatency: return "latency";
    case Cost::kLaunch: return "launch";
  }
  return "";
}

KernelTime ModelTime(const device::Profile& profile, const simt::LaunchCount& count,
                     const device::Occupancy& occupancy, const TimeConstants& constants) {
  const device::Assumption gpu = device::Assume(profile);
  const device::Profile& p = gpu.profile;
  const device::SmModel& sm = device::SmModelOf(profile);
  KernelTime time;
  time.guesses = gpu.guesses;
  const Launch x(count, constants);
  const double sms = p.sm_count, per_us = p.clock_mhz, width = p.warp_width;
  const auto set = [&](Cost cost, double us) { time.us_alone[static_cast<size_t>(cost)] = us; };
  set(Cost::kLaunch, x[TimeConstant::launch_us]);
  if (count.blocks > 0) {
    // Blocks go to SMs whole: the SM with most of them ends last.
    const double most = std::ceil(x.blocks / sms) / x.blocks;
    const auto on_sm = [&](double clocks) { return clocks * most / per_us; };
    const double held = std::max(occupancy.blocks_per_sm, 1);
    time.waves = x.blocks / (sms * held);
    time.tail = 1 - 1 / (most * sms);
    set(Cost::kIssue, on_sm(IssueSlots(x) * (width / 32) / kIssuePerClock));
    set(Cost::kArithmetic,
        on_sm(x.Each(ArithmeticClocks(sm, count, width, x[TimeConstant::integer]))));
    set(Cost::kShared, on_sm(x.Each(count.total.shared_passes)));
    set(Cost::kL1, on_sm(x.Each(L1Clocks(count.total))));
    const double l2_bytes = x.Each(SectorsToL2(count.total)) * kSectorBytes;
    set(Cost::kL2, std::max(l2_bytes / (sm.l2_bytes_per_clock * sms) / per_us,
                            on_sm(l2_bytes / x[TimeConstant::l2_sm_bytes])));
    set(Cost::kDram, DramBytes(x, time.waves, p.l2_mib * 1048576.0) /
                         (p.dram_gb_per_s * 1e3 * x[TimeConstant::dram_share]));
    set(Cost::kAtomics, AtomicClocks(x, sms) / per_us);
    set(Cost::kLatency, LatencyClocks(x, time.waves) / per_us);
    const double warps = static_cast<double>(count.warps_per_block);
    if (count.critical_path_sum > 0 && warps > 0) {
      time.barrier_share =
          std::min(1.0, static_cast<double>(count.total.barrier_wait) /
                            (warps * static_cast<double>(count.critical_path_sum)));
    }
  }
  double longest = 0;
  for (int i = 0; i < kCostCount; ++i) {
    const double us = time.us_alone[static_cast<size_t>(i)];
    if (us <= longest) continue;
    longest = us;
    time.binds = static_cast<Cost>(i);
  }
  // Pipes take what the issue slots hand them, clock by clock: the two do not add up.
  std::array<double, kCostCount> parts = time.us_alone;
  double& issue = parts[static_cast<size_t>(Cost::kIssue)];
  double& arithmetic = parts[static_cast<size_t>(Cost::kArithmetic)];
  (issue < arithmetic ? issue : arithmetic) = 0;
  const double power = x[TimeConstant::soft];
  double sum = 0;
  for (const double us : parts) sum += std::pow(us / longest, power);
  time.us = longest * std::pow(sum, 1 / power);
  time.us_all = time.us * static_cast<double>(count.launches);
  time.sampled = x.sampled;
  time.uncertainty = Uncertainty(parts, power,
                                 (gpu.guesses.empty() ? 0 : kSigmaGuessed * kSigmaGuessed) +
                                     (x.sampled ? kSigmaSampled * kSigmaSampled : 0));
  return time;
}

Json ToJson(const KernelTime& time, const TimeConstants& constants) {
  Json alone = Json::object();
  for (int i = 0; i < kCostCount; ++i)
    alone[std::string(CostName(static_cast<Cost>(i)))] = time.us_alone[static_cast<size_t>(i)];
  Json guesses = Json::array();
  for (const std::string& guess : time.guesses) guesses.push_back(guess);
  return {{"label", "modelled"},
          {"us", time.us},
          {"us_all_launches", time.us_all},
          {"uncertainty", time.uncertainty},
          {"binds", std::string(CostName(time.binds))},
          {"alone_us", std::move(alone)},
          {"waves", time.waves},
          {"tail", time.tail},
          {"barrier_share", time.barrier_share},
          {"sampled", time.sampled},
          {"guesses", std::move(guesses)},
          {"constants", constants.Hash()}};
}

}  // namespace kuafu::perf
