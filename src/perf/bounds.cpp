// SPDX-License-Identifier: Apache-2.0
// Lower bounds by resource. Rates are those of device/sm_models.def; where the number of SMs or the
// clock of a GPU is not public, only what does not depend on them is known.
#include <algorithm>

#include "perf/clocks.h"
#include "perf/profile.h"

namespace kuafu::perf {
namespace {

using simt::Count;
using simt::InstClass;

constexpr double kL1BytesPerClock = 128;
// What a global request takes in the L1: a fit of the strides that gpu-benches measured on A100 and
// H200 (mean error 7 and 2 %).
constexpr double kL1PerRequest = 0.75, kL1PerLine = 0.25;

}  // namespace

double SectorsToL2(const Count& count) {
  return static_cast<double>(count.load.sectors - count.load.l1_hits + count.store.sectors +
                             count.atomic.sectors);
}

double DramSectors(const Count& count) {
  return static_cast<double>(count.load.dram + count.store.dram + count.atomic.dram);
}

double L1Clocks(const Count& count) {
  double clocks = 0;
  for (const simt::MemoryCount* m : {&count.load, &count.store, &count.atomic}) {
    const auto requests = static_cast<double>(m->requests), lines = static_cast<double>(m->lines);
    clocks += std::max(kL1PerRequest * requests + kL1PerLine * lines,
                       static_cast<double>(m->sectors) * kSectorBytes / kL1BytesPerClock);
  }
  return clocks;
}

double ArithmeticClocks(const device::SmModel& sm, const simt::LaunchCount& count, double width,
                        double integer_share) {
  const auto clocks = [&](InstClass cls, int lanes) {
    return static_cast<double>(count.warps_by_class[static_cast<size_t>(cls)]) * width / lanes;
  };
  return std::max({clocks(InstClass::kFp32, sm.fp32_lanes), clocks(InstClass::kFp16, sm.fp16_lanes),
                   clocks(InstClass::kFp64, sm.fp64_lanes),
                   integer_share * clocks(InstClass::kInteger, sm.int_lanes),
                   clocks(InstClass::kSpecial, sm.special_lanes)});
}

std::string_view ResourceName(Resource resource) {
  switch (resource) {
    case Resource::kIssue: return "issue slots";
    case Resource::kArithmetic: return "arithmetic pipes";
    case Resource::kShared: return "shared memory";
    case Resource::kL1: return "L1";
    case Resource::kL2: return "L2";
    case Resource::kDram: return "DRAM";
    case Resource::kLatency: return "latency";
  }
  return "nothing";
}

double UseOf(Resource resource, const Count& count) {
  switch (resource) {
    case Resource::kIssue:
    case Resource::kArithmetic: return static_cast<double>(count.warps);
    case Resource::kShared: return static_cast<double>(count.shared_passes);
    case Resource::kL1: return L1Clocks(count);
    case Resource::kL2: return SectorsToL2(count);
    case Resource::kDram: return DramSectors(count);
    case Resource::kLatency: return static_cast<double>(count.stall);
  }
  return 0;
}

Bounds FindBounds(const device::Profile& profile, const simt::LaunchCount& count,
                  const device::Occupancy& occupancy) {
  Bounds bounds;
  bounds.us.fill(-1);
  const auto set = [&](Resource resource, double us) {
    bounds.us[static_cast<size_t>(resource)] = us;
  };
  const device::SmModel& sm = device::SmModelOf(profile);
  if (profile.dram_gb_per_s > 0)
    set(Resource::kDram, DramSectors(count.total) * kSectorBytes / (profile.dram_gb_per_s * 1e3));
  if (profile.sm_count != device::kUnknown && profile.clock_mhz != device::kUnknown &&
      count.launches > 0) {
    const double width = profile.warp_width;
    const double blocks = static_cast<double>(count.blocks) / static_cast<double>(count.launches);
    // Blocks go to SMs whole: a grid smaller than the GPU leaves SMs idle.
    const double sms = std::clamp(blocks, 1.0, static_cast<double>(profile.sm_count));
    const double per_us = profile.clock_mhz;
    const auto on_sms = [&](double clocks) { return clocks / sms / per_us; };
    set(Resource::kIssue,
        on_sms(static_cast<double>(count.total.warps) * (width / 32) / kIssuePerClock));
    set(Resource::kArithmetic, on_sms(ArithmeticClocks(sm, count, width, 1)));
    set(Resource::kShared, on_sms(static_cast<double>(count.total.shared_passes)));
    set(Resource::kL1, on_sms(L1Clocks(count.total)));
    set(Resource::kL2, SectorsToL2(count.total) * kSectorBytes /
                           (sm.l2_bytes_per_clock * profile.sm_count) / per_us);
    const double resident = std::max(occupancy.blocks_per_sm, 1);
    set(Resource::kLatency, on_sms(static_cast<double>(count.critical_path_sum) /
                                   std::min(resident, std::max(1.0, blocks / sms))));
  }
  double most = -1;
  for (int i = 0; i < kResourceCount; ++i) {
    const double us = bounds.us[static_cast<size_t>(i)];
    if (us <= most) continue;
    most = us;
    bounds.binds = static_cast<Resource>(i);
    bounds.known = true;
  }
  return bounds;
}

}  // namespace kuafu::perf
