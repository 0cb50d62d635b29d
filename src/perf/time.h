// SPDX-License-Identifier: Apache-2.0
// How long a kernel would take on a GPU: modelled from its counters, never measured. For each
// resource the time that it would need alone; the longest binds, and those near it add to it (a
// soft maximum). docs/time-model.md has the form and what its constants rest on.
//
//   perf::KernelTime t = perf::ModelTime(*target.profile, count, occupancy, perf::TimeConstants());
//   t.us                                  // of one launch
//   t.us / t.uncertainty ... t.us * t.uncertainty
//   perf::CostName(t.binds)               // "DRAM"
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "device/occupancy.h"
#include "simt/counters.h"

namespace kuafu::perf {

enum class TimeConstant : uint8_t {
#define CONSTANT(name, ...) name,
#include "perf/time_constants.def"
#undef CONSTANT
};
struct TimeConstantInfo {
  const char* name;
  double value, low, high;
  const char* text;
};
inline constexpr TimeConstantInfo kTimeConstants[] = {
#define CONSTANT(name, value, low, high, text) {#name, value, low, high, text},
#include "perf/time_constants.def"
#undef CONSTANT
};
inline constexpr size_t kTimeConstantCount = std::size(kTimeConstants);

class TimeConstants {
 public:
  TimeConstants();  // the frozen ones
  double operator[](TimeConstant c) const { return values_[static_cast<size_t>(c)]; }
  void Set(TimeConstant c, double value) { values_[static_cast<size_t>(c)] = value; }
  // Of the form, names, and values with 6 digits: a report says with which it was made.
  std::string Hash() const;

 private:
  std::array<double, kTimeConstantCount> values_;
};

// What a kernel's time may go to.
enum class Cost : uint8_t {
  kIssue,
  kArithmetic,
  kShared,
  kL1,
  kL2,
  kDram,
  kAtomics,
  kLatency,  // critical path of a block, one wave of resident blocks after the other
  kLaunch,
};
inline constexpr int kCostCount = 9;
std::string_view CostName(Cost cost);

struct KernelTime {
  double us = 0;           // of one launch
  double us_all = 0;       // of all launches, one after the other
  double uncertainty = 1;  // a factor: two of three times lie between us / it and us * it
  std::array<double, kCostCount> us_alone{};  // of one launch
  Cost binds = Cost::kLaunch;
  double waves = 0;  // of resident blocks; the last may be a part of one
  double tail = 0;   // share of SM time without a block, 0 to 1, from uneven numbers of blocks
  double barrier_share = 0;          // of the warps' clocks that wait at barriers, 0 to 1
  bool sampled = false;              // blocks were left out; those that ran stand for all
  std::vector<std::string> guesses;  // figures of the GPU that are not public
};

// `count` as simt::Merge gives it: of launches of one configuration. Monotone: more bytes, sectors,
// instructions, passes or stalls never make it shorter, nor do fewer resident blocks or a slower
// GPU.
KernelTime ModelTime(const device::Profile& profile, const simt::LaunchCount& count,
                     const device::Occupancy& occupancy, const TimeConstants& constants);
// {"label": "modelled", "us", "uncertainty", "binds", "alone_us": {...}, ...}
Json ToJson(const KernelTime& time, const TimeConstants& constants);

}  // namespace kuafu::perf
