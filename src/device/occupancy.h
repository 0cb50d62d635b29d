// SPDX-License-Identifier: Apache-2.0
// Blocks that one SM holds at once, by the published occupancy rules, and what its L1 has left.
//
//   Occupancy o = FindOccupancy(*profile, {.threads = 256, .registers = 40, .shared_bytes = 8192});
//   o.blocks_per_sm, o.limiter
//
// Figures of a GPU that are not public are replaced by those of sm_80 and listed in `assumed`.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "device/profile.h"

namespace kuafu::device {

// What the architecture of an SM fixes; sm_models.def.
struct SmModel {
  uint32_t arch;
  bool musa;
  int unified_kib;     // L1 and shared memory together
  int shared_kib[10];  // sizes that shared memory can be given, ascending; the last is repeated
  int warps_per_sm, blocks_per_sm;
  int fp32_lanes, fp16_lanes, fp64_lanes, int_lanes, special_lanes, memory_lanes;  // a clock
  int l1_clocks, shared_clocks, l2_clocks, dram_clocks;  // latency
  int l2_mib;
  double l2_bytes_per_clock;  // of one SM, when all of them read
  const char* source;
};
// The model of the profile's architecture, or of sm_80 where none is public (*assumed = true).
const SmModel& SmModelOf(const Profile& profile, bool* assumed = nullptr);

struct BlockNeeds {
  uint32_t threads = 0;
  uint32_t registers = 0;     // per thread; 0 = not known, taken for no limit
  uint64_t shared_bytes = 0;  // static and dynamic
};

struct Occupancy {
  int blocks_per_sm = 0;  // 0: not even one fits
  int warps_per_block = 0;
  int warps_per_sm = 0;  // active
  int warps_max = 0;
  // "warps", "blocks", "registers", "shared memory"; what allows fewest blocks.
  std::string_view limiter;
  int by_warps = 0, by_blocks = 0, by_registers = 0, by_shared = 0;  // blocks each would allow
  uint64_t l1_bytes = 0;                  // left beside the shared memory of the resident blocks
  std::vector<std::string_view> assumed;  // figures that are not public for this profile
  double theoretical() const {            // 0 to 1
    return warps_max == 0 ? 0 : static_cast<double>(warps_per_sm) / warps_max;
  }
};
Occupancy FindOccupancy(const Profile& profile, const BlockNeeds& needs);

}  // namespace kuafu::device
