// SPDX-License-Identifier: Apache-2.0
// A profile: what counters say about a kernel on one GPU, in the words of Nsight Compute, and the
// lines that cost most.
//
//   KUAFU_TRY(auto counters, simt::CountersFromJson(json));
//   for (const perf::KernelProfile& k : perf::Profiles(*target.profile, counters))
//     text += perf::Text(*target.profile, k);
//
// Nothing here was measured: a figure is counted (exact for the device module), estimated
// (registers) or modelled (caches, clocks, bounds, time), and says so.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "device/occupancy.h"
#include "perf/time.h"
#include "simt/counters.h"

namespace kuafu::perf {

// What a kernel may be waiting for.
enum class Resource : uint8_t { kIssue, kArithmetic, kShared, kL1, kL2, kDram, kLatency };
inline constexpr int kResourceCount = 7;
std::string_view ResourceName(Resource resource);  // "issue slots", "DRAM", ...

// The least time that each resource needs for the launches of a kernel, were it alone: lower
// bounds, not a prediction. Negative: not known for this GPU.
struct Bounds {
  std::array<double, kResourceCount> us{};
  Resource binds = Resource::kDram;  // the largest
  bool known = false;                // any is
};

struct LineShare {
  std::string file;
  uint32_t line = 0;
  double share = 0;  // of what the binding resource does for the kernel, 0 to 1
  simt::Count count;
};

struct KernelProfile {
  simt::LaunchCount count;
  device::Occupancy occupancy;
  Bounds bounds;
  KernelTime time;
  std::vector<LineShare> lines;  // costliest first; those that are nothing are left out
};

Bounds FindBounds(const device::Profile& profile, const simt::LaunchCount& count,
                  const device::Occupancy& occupancy);
// How much of a resource a line uses, in units of its own.
double UseOf(Resource resource, const simt::Count& count);

// `merged` as simt::Merge gives them.
std::vector<KernelProfile> Profiles(const device::Profile& profile,
                                    const std::vector<simt::LaunchCount>& merged);
Json ToJson(const KernelProfile& kernel);
std::string Text(const device::Profile& profile, const KernelProfile& kernel);

}  // namespace kuafu::perf
