// SPDX-License-Identifier: Apache-2.0
// The host side of a call of which not all blocks are executed: what copies do to what is known,
// when the host must not go on, and what the blocks that ran stand for.
#include <algorithm>
#include <cstring>

#include "hostabi/session.h"

namespace kuafu::hostabi {
namespace {

constexpr size_t kSampledMax = 64;     // rows
constexpr uint64_t kGivenUpTimes = 8;  // a launch may cost so many times what runs whole
constexpr double kSigmas = 3;

}  // namespace

simt::Sampling Session::SamplingOfLaunch() const {
  if (!sampling_.on) return {};
  const uint64_t used = counters.lane_instructions;
  const uint64_t left = sampling_.call_lanes > used ? sampling_.call_lanes - used : 0;
  return {.on = true,
          .seed = sampling_.seed,
          .lanes_whole = std::min(sampling_.launch_lanes, left),
          .lanes_max = std::min(kGivenUpTimes * sampling_.launch_lanes, left)};
}

void Session::AccountSampled(simt::SampledLaunch launch) {
  // A launch that was refused has no blocks.
  if (launch.blocks == 0) return;
  for (const auto& [id, estimate] : launch.estimates) estimates_[id] = estimate;
  launch.estimates.clear();
  if (counters.lane_instructions >= sampling_.call_lanes && blind_.empty())
    blind_ = "its launches cost more than " + std::to_string(sampling_.call_lanes) +
             " lane instructions";
  const auto same = std::find_if(sampled_.begin(), sampled_.end(),
                                 [&](const auto& row) { return row.kernel == launch.kernel; });
  if (same == sampled_.end()) {
    if (sampled_.size() < kSampledMax) sampled_.push_back(std::move(launch));
    return;
  }
  same->blocks += launch.blocks;
  same->blocks_run += launch.blocks_run;
  same->blocks_given_up += launch.blocks_given_up;
  same->whole = same->whole && launch.whole;
  same->too_costly = same->too_costly || launch.too_costly;
}

std::string Session::blind() const {
  if (!blind_.empty() || memory_.refused() == refused_before_) return blind_;
  return "it needs more than " + std::to_string(memory_.limit_bytes() >> 20) +
         " MiB of device memory at this size";
}

void Session::NoteHostRead(const void* from, size_t bytes) {
  if (!sampling_.on || !blind_.empty() || memory_.Known(from, bytes)) return;
  blind_ = "host code reads results of kernels of which not all blocks were executed";
}

void Session::NoteCopied(const void* to, const void* from, size_t bytes) {
  const uint32_t id = memory_.IdOf(reinterpret_cast<uint64_t>(to));
  const uint32_t source = memory_.IdOf(reinterpret_cast<uint64_t>(from));
  if (id != 0 || source != 0) {
    const simt::Allocation* a = memory_.Get(id != 0 ? id : source);
    AddWork({.kind = Work::Kind::kCopy, .launch = 0, .bytes = bytes > 0 ? bytes : a->bytes});
  }
  if (sampling_.on) {
    const simt::Allocation* a = memory_.Get(source);
    const bool known = a == nullptr || a->Known(0, a->bytes);
    if (bytes > 0 && id == 0) {
      NoteHostRead(from, bytes);
    } else if (bytes > 0) {
      memory_.CopyKnown(to, from, bytes);
    } else if (!known && id == 0) {
      NoteHostRead(reinterpret_cast<const void*>(a->base), a->bytes);
    } else if (!known) {
      simt::Allocation* target = memory_.Get(id);
      target->SetKnown(0, target->bytes, false);
    }
  }
  if (data_flow != nullptr && id != 0) data_flow->Copied(id, source);
}

void Session::NoteFilled(const void* to, size_t bytes) {
  if (sampling_.on && bytes > 0) memory_.SetKnown(to, bytes, true);
  const uint32_t id = memory_.IdOf(reinterpret_cast<uint64_t>(to));
  if (id != 0) {
    AddWork({.kind = Work::Kind::kFill,
             .launch = 0,
             .bytes = bytes > 0 ? bytes : memory_.Get(id)->bytes});
  }
  if (data_flow != nullptr && id != 0) data_flow->Filled(id);
}

double Session::Coverage(uint32_t id) const {
  const simt::Allocation* a = memory_.Get(id);
  if (a == nullptr || a->bytes == 0 || a->unknown.empty()) return 1;
  size_t known = a->bytes;
  for (const uint64_t bits : a->unknown) known -= static_cast<size_t>(__builtin_popcountll(bits));
  auto covered = static_cast<double>(known);
  if (const auto it = estimates_.find(id); it != estimates_.end())
    covered = std::max(covered, it->second.bytes + kSigmas * it->second.deviation);
  return std::min(1.0, covered / static_cast<double>(a->bytes));
}

}  // namespace kuafu::hostabi
