// SPDX-License-Identifier: Apache-2.0
// Device profiles: what is publicly known of each GPU that can be simulated, as data
// (profiles.def).
//
//   KUAFU_TRY(device::Target target, device::ParseTarget("sim:h100"));
//   target.profile->warp_width == 32
//
// A simulated target is always called sim:<name>, so that no report can be mistaken for a run on
// hardware.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kuafu::device {

// Marks a figure for which no public source was found.
inline constexpr int kUnknown = -1;

struct Profile {
  const char* name;
  const char* title;
  bool musa;
  uint32_t arch;        // 900 = sm_90, 310 = mp_31
  uint32_t warp_width;  // lanes
  int sm_count;         // streaming multiprocessors (MUSA: MPs)
  int clock_mhz;        // boost
  int threads_per_block_max;
  int threads_per_sm_max;
  int blocks_per_sm_max;
  int shared_kib_per_block;         // without opt-in
  int shared_kib_per_block_opt_in;  // after cudaFuncSetAttribute
  int shared_kib_per_sm;
  int registers_per_sm;
  int l2_mib;
  int memory_gib;
  double dram_gb_per_s;
  double fp32_tflops;
  double fp16_tensor_tflops;  // dense

  // Blocks of this shape that can be resident on the device at once, by the published occupancy
  // rules (threads, blocks and shared memory; registers are not known before a real compile). Where
  // a figure is unknown it is left out; with an unknown SM count the answer assumes one SM of 2048
  // threads, which is the strictest choice for code that waits for other blocks.
  uint32_t ResidentBlocks(uint32_t threads_per_block, uint64_t shared_bytes_per_block) const;
};

std::span<const Profile> Profiles();
// nullptr if there is none of that name.
const Profile* FindProfile(std::string_view name);

// Where a candidate runs. Real devices (cuda:0, musa:0) are recognised and refused by name.
struct Target {
  std::string text;                  // "sim:h100"
  const Profile* profile = nullptr;  // static storage
};
Result<Target> ParseTarget(std::string_view text);

}  // namespace kuafu::device
