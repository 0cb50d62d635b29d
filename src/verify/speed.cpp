// SPDX-License-Identifier: Apache-2.0
// Kernels one after the other, against PyTorch's; what is left out makes a speed unknown rather
// than good.
#include "verify/speed.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "device/occupancy.h"
#include "eager/model.h"
#include "perf/profile.h"
#include "simt/counters_json.h"

namespace kuafu::verify {
namespace {

verdict::Speed Unknown(verdict::Speed speed, std::string why) {
  speed.why = std::move(why);
  return speed;
}

uint64_t StoredBytes(const std::vector<perf::KernelProfile>& kernels) {
  uint64_t bytes = 0;
  for (const perf::KernelProfile& k : kernels)
    bytes += k.count.total.store.bytes + k.count.total.atomic.bytes;
  return bytes;
}

bool Sampled(const std::vector<perf::KernelProfile>& kernels) {
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const perf::KernelProfile& k) { return k.time.sampled; });
}

}  // namespace

verdict::Speed SpeedOf(const SpeedInput& input) {
  verdict::Speed speed;
  speed.as_written = input.as_written;
  if (input.counters.is_null()) return Unknown(speed, "its launches were not counted");
  const auto merged = simt::CountersFromJson(input.counters);
  if (!merged.ok()) return Unknown(speed, merged.error().message);
  const std::vector<perf::KernelProfile> kernels = perf::Profiles(input.profile, merged.value());
  if (kernels.empty())
    return Unknown(speed, "it launched no kernel, and what else it did has no model");
  if (!input.operators.empty()) {
    return Unknown(speed, "it also computes with PyTorch's " + input.operators.front() +
                              ", which is not counted");
  }
  double us = 0, variance = 0, longest = 0;
  for (const perf::KernelProfile& k : kernels) {
    us += k.time.us_all;
    // Kernels on one GPU are wrong together.
    variance += k.time.us_all * std::log(k.time.uncertainty);
    if (k.time.us_all <= longest) continue;
    longest = k.time.us_all;
    speed.kernel = k.count.kernel;
    speed.binds = std::string(perf::CostName(k.time.binds));
  }
  if (!(us > 0)) return Unknown(speed, "its launches were not counted");
  speed.sampled = Sampled(kernels);
  if (!speed.sampled && StoredBytes(kernels) < static_cast<uint64_t>(input.output_bytes)) {
    return Unknown(speed,
                   "its kernels store fewer bytes than the results have, and copies have no "
                   "model");
  }
  speed.kernel_ms = us * 1e-3;
  speed.kernel_uncertainty = std::exp(variance / us);
  speed.floor_ms = FloorUs(input.profile, input.output_bytes) * 1e-3;
  if (!input.reference.ok()) return Unknown(speed, input.reference.error().message);
  const eager::Estimate eager =
      eager::Model(*input.reference.value(), eager::MachineOf(input.profile), eager::Constants());
  speed.eager_ms = eager.ms;
  speed.eager_uncertainty = eager.uncertainty;
  speed.known = true;
  speed.speedup = speed.eager_ms / speed.kernel_ms;
  speed.speedup_uncertainty =
      std::exp(std::hypot(std::log(speed.kernel_uncertainty), std::log(speed.eager_uncertainty)));
  return speed;
}

double FloorUs(const device::Profile& profile, int64_t written_bytes) {
  if (profile.dram_gb_per_s <= 0 || profile.l2_mib <= 0 || profile.sm_count <= 0 ||
      profile.clock_mhz <= 0)
    return 0;
  const auto bytes = static_cast<double>(std::max<int64_t>(written_bytes, 0));
  const double held = std::min(bytes, profile.l2_mib * 1048576.0);
  const double l2_per_us =
      device::SmModelOf(profile).l2_bytes_per_clock * profile.sm_count * profile.clock_mhz;
  return std::max((bytes - held) / (profile.dram_gb_per_s * 1e3), bytes / l2_per_us);
}

std::string WhyImpossible(const verdict::Speed& speed) {
  if (!(speed.kernel_ms > 0) || !(speed.floor_ms > 0)) return "";
  if (speed.kernel_ms * speed.kernel_uncertainty >= speed.floor_ms) return "";
  char text[160];
  std::snprintf(text, sizeof text,
                "its kernels take %.3g ms, but writing the results takes this GPU at least %.3g ms",
                speed.kernel_ms, speed.floor_ms);
  return text;
}

}  // namespace kuafu::verify
