// SPDX-License-Identifier: Apache-2.0
// The profile table and target names.
#include "device/profile.h"

#include <algorithm>

namespace kuafu::device {
namespace {

constexpr Profile kProfiles[] = {
#define PROFILE(...) {__VA_ARGS__},
#include "device/profiles.def"
#undef PROFILE
};

constexpr uint64_t kReservedSharedBytes = 1024;  // per block, from compute capability 8.0 on

}  // namespace

uint32_t Profile::ResidentBlocks(uint32_t threads_per_block,
                                 uint64_t shared_bytes_per_block) const {
  const uint32_t warps = (std::max(threads_per_block, 1u) + warp_width - 1) / warp_width;
  const uint32_t threads_per_sm =
      threads_per_sm_max == kUnknown ? 2048 : static_cast<uint32_t>(threads_per_sm_max);
  uint64_t per_sm = std::max(threads_per_sm / (warps * warp_width), 1u);
  if (blocks_per_sm_max != kUnknown)
    per_sm = std::min<uint64_t>(per_sm, static_cast<uint64_t>(blocks_per_sm_max));
  if (shared_kib_per_sm != kUnknown && shared_bytes_per_block > 0) {
    const uint64_t reserved = musa ? 0 : kReservedSharedBytes;
    const uint64_t per_block = (shared_bytes_per_block + reserved + 127) / 128 * 128;
    const uint64_t sm_bytes = static_cast<uint64_t>(shared_kib_per_sm) * 1024;
    per_sm = std::min(per_sm, std::max<uint64_t>(sm_bytes / per_block, 1));
  }
  const uint64_t sms = sm_count == kUnknown ? 1 : static_cast<uint64_t>(sm_count);
  return static_cast<uint32_t>(per_sm * sms);
}

std::span<const Profile> Profiles() { return kProfiles; }

const Profile* FindProfile(std::string_view name) {
  for (const Profile& profile : kProfiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

Result<Target> ParseTarget(std::string_view text) {
  std::string known;
  for (const Profile& profile : kProfiles)
    known += (known.empty() ? "sim:" : ", sim:") + std::string(profile.name);
  if (text.starts_with("cuda:") || text.starts_with("musa:")) {
    return Error{Code::kUnsupported, "opening target '" + std::string(text) +
                                         "': real devices are not supported yet; use one of " +
                                         known};
  }
  const Profile* profile = text.starts_with("sim:") ? FindProfile(text.substr(4)) : nullptr;
  if (profile == nullptr) {
    return Error{Code::kInvalidInput, "opening target '" + std::string(text.substr(0, 64)) +
                                          "': no such target; use one of " + known};
  }
  return Target{std::string(text), profile};
}

}  // namespace kuafu::device
