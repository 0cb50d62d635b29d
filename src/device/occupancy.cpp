// SPDX-License-Identifier: Apache-2.0
// The occupancy rules, see occupancy.h.
#include "device/occupancy.h"

#include <algorithm>

namespace kuafu::device {
namespace {

#define KUAFU_SM_LIST(...) __VA_ARGS__
constexpr SmModel kSmModels[] = {
#define SM(arch, musa, unified, shared, ...) \
  {arch, musa, unified, KUAFU_SM_LIST shared, __VA_ARGS__},
#include "device/sm_models.def"
#undef SM
};
#undef KUAFU_SM_LIST

constexpr uint64_t kKib = 1024;
constexpr uint64_t kSharedUnit = 128;
constexpr uint64_t kSharedReserved = 1024;  // per block, from compute capability 8.0 on
// Registers are given to warps in units of 256, and warps are counted in fours, one for each part
// of an SM.
constexpr uint64_t kRegisterUnit = 256;
constexpr uint64_t kWarpParts = 4;
constexpr uint64_t kRegistersAssumed = 65536;

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

const SmModel& SmModelOf(const Profile& profile, bool* assumed) {
  const SmModel* found = nullptr;
  for (const SmModel& model : kSmModels) {
    if (model.arch == profile.arch && model.musa == profile.musa) found = &model;
  }
  if (assumed != nullptr) *assumed = found == nullptr;
  return found != nullptr ? *found : kSmModels[0];
}

Occupancy FindOccupancy(const Profile& profile, const BlockNeeds& needs) {
  Occupancy o;
  bool assumed = false;
  const SmModel& sm = SmModelOf(profile, &assumed);
  const auto take = [&](int figure, uint64_t otherwise, std::string_view name) {
    if (figure != kUnknown) return static_cast<uint64_t>(figure);
    o.assumed.push_back(name);
    return otherwise;
  };
  const uint64_t width = profile.warp_width;
  const uint64_t threads =
      take(profile.threads_per_sm_max, static_cast<uint64_t>(sm.warps_per_sm) * 32, "threads/SM");
  const uint64_t blocks =
      take(profile.blocks_per_sm_max, static_cast<uint64_t>(sm.blocks_per_sm), "blocks/SM");
  const uint64_t registers = take(profile.registers_per_sm, kRegistersAssumed, "registers/SM");
  const uint64_t shared_kib =
      take(profile.shared_kib_per_sm, static_cast<uint64_t>(sm.shared_kib[9]), "shared memory/SM");
  if (assumed) o.assumed.push_back("L1 and shared memory together");

  const uint64_t warps = (std::max(needs.threads, 1u) + width - 1) / width;
  const uint64_t warps_max = threads / width;
  const uint64_t most = 1u << 20;
  const uint64_t by_warps = warps_max / warps;
  uint64_t by_registers = most;
  if (needs.registers > 0) {
    const uint64_t per_warp = RoundUp(needs.registers * width, kRegisterUnit);
    const uint64_t parts = width == 32 ? kWarpParts : 1;
    // Each part holds whole warps.
    const uint64_t held = registers / parts / per_warp * parts;
    by_registers = held / RoundUp(warps, parts);
  }
  uint64_t by_shared = most, per_block = 0;
  if (needs.shared_bytes > 0) {
    per_block = RoundUp(needs.shared_bytes + (profile.musa ? 0 : kSharedReserved), kSharedUnit);
    by_shared = shared_kib * kKib / per_block;
  }
  const struct {
    uint64_t count;
    std::string_view name;
  } limits[] = {{by_warps, "warps"},
                {blocks, "blocks"},
                {by_registers, "registers"},
                {by_shared, "shared memory"}};
  uint64_t least = most;
  for (const auto& limit : limits) {
    if (limit.count >= least) continue;
    least = limit.count;
    o.limiter = limit.name;
  }
  o.by_warps = static_cast<int>(by_warps);
  o.by_blocks = static_cast<int>(blocks);
  o.by_registers = static_cast<int>(by_registers);
  o.by_shared = static_cast<int>(by_shared);
  o.blocks_per_sm = static_cast<int>(least);
  o.warps_per_block = static_cast<int>(warps);
  o.warps_per_sm = static_cast<int>(least * warps);
  o.warps_max = static_cast<int>(warps_max);
  // The smallest size of shared memory that holds them; the rest is L1.
  uint64_t carved = shared_kib;
  for (const int size : sm.shared_kib) {
    if (static_cast<uint64_t>(size) * kKib >= per_block * least) {
      carved = std::min(carved, static_cast<uint64_t>(size));
      break;
    }
  }
  const auto unified = static_cast<uint64_t>(sm.unified_kib);
  o.l1_bytes = unified > carved ? (unified - carved) * kKib : 0;
  return o;
}

}  // namespace kuafu::device
