// SPDX-License-Identifier: Apache-2.0
// Host and GPU as two clocks, and what is still in L2.
#include "eager/model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "device/assumed.h"

namespace kuafu::eager {
namespace {

using task::Operator;
using task::OperatorKind;

// Number of the form of the model; part of the hash. 2: blocks of layer_norm are small.
constexpr int kForm = 2;
// One standard deviation of the logarithm of a time, for another GPU than those of the data, and
// for one whose figures are guesses.
constexpr double kSigmaAssumed = 0.15, kSigmaGuessed = 0.5;
// A benchmark overwrites 256 MiB before it times, to empty L2, and the host runs ahead meanwhile.
constexpr double kFlushBytes = 256.0 * 1048576.0;

// Which results can still be in L2: those after which little else was moved.
class Cache {
 public:
  explicit Cache(double bytes) : bytes_(bytes) {}

  Traffic Take(const Operator& op) {
    const double written = static_cast<double>(op.written_bytes);
    const double all = static_cast<double>(op.read_bytes) + written;
    double near = 0;
    for (size_t i = 0; i < op.uses.size(); ++i) {
      const auto it = touched_.find(op.uses[i]);
      const auto bytes = static_cast<double>(op.use_bytes[i]);
      if (it != touched_.end() && moved_ - it->second + bytes <= bytes_) near += bytes;
    }
    near = std::min(near, static_cast<double>(op.read_bytes));
    if (all <= bytes_) near += written;
    moved_ += all;
    for (const int64_t value : op.uses) touched_[value] = moved_;
    for (const int64_t value : op.makes) touched_[value] = moved_;
    return {.dram_bytes = all - near, .l2_bytes = near};
  }

 private:
  double bytes_;
  double moved_ = 0;
  std::unordered_map<int64_t, double> touched_;  // looked up only
};

}  // namespace

Constants::Constants() {
  for (int i = 0; i < kConstantCount; ++i) Set(i, kConstants[i].value);
}

std::string Constants::Hash() const {
  std::string text = "form " + std::to_string(kForm) + "\n";
  for (int i = 0; i < kConstantCount; ++i) {
    char line[96];
    std::snprintf(line, sizeof line, "%s %.6g\n", kConstants[i].name, at(i));
    text += line;
  }
  return HashHex(text);
}

Machine MachineOf(const device::Profile& profile) {
  device::Assumption known = device::Assume(profile);
  Machine machine{.name = profile.name, .gpu = known.profile, .guesses = std::move(known.guesses)};
  if (machine.name == "h100-pcie") {
    machine.compute = Constant::pcie_compute;
    machine.tensor = Constant::pcie_tensor;
    machine.bandwidth = Constant::pcie_bandwidth;
    machine.call_us = Constant::pcie_call_us;
    machine.view_us = Constant::pcie_view_us;
    return machine;
  }
  machine.compute = Constant::h100_compute;
  machine.tensor = Constant::h100_tensor;
  machine.bandwidth = Constant::h100_bandwidth;
  machine.call_us = Constant::h100_call_us;
  machine.view_us = Constant::h100_view_us;
  machine.assumed = machine.name != "h100";
  return machine;
}

std::string_view BoundName(Bound bound) {
  switch (bound) {
    case Bound::kMemory: return "memory";
    case Bound::kCompute: return "compute";
    case Bound::kLatency: return "launch";
    case Bound::kHost: return "host";
  }
  return "";
}

Estimate Walk(const task::OperatorList& list, const std::vector<Step>& steps,
              const Machine& machine, const Constants& constants, const Protocol& protocol) {
  Estimate estimate;
  const device::Profile& gpu = machine.gpu;
  Cache cache(gpu.l2_mib * 1048576.0 * constants[Constant::l2_share]);
  const double kernel_us = constants[Constant::kernel_us];
  const double begin =
      protocol.flush_bytes / (gpu.dram_gb_per_s * 1e3 * constants[machine.bandwidth]);
  double host = protocol.start_us, device = begin;
  std::array<double, task::kOperatorKinds> by_kind{};
  double other = 0;  // sum of times and standard deviations
  for (const Step& step : steps) {
    host += step.host_us;
    const Operator* op = step.op < 0 ? nullptr : &list.operators[static_cast<size_t>(step.op)];
    const KernelTime time = op == nullptr ? KernelTime{.us = step.us, .memory_us = step.us}
                                          : TimeKernel(*op, cache.Take(*op), machine, constants);
    const double idle = std::max(host - device, 0.0);
    const double busy = std::max(time.us, kernel_us);
    OperatorTime one{.index = step.op, .us = idle + busy};
    one.bound = idle > busy                        ? Bound::kHost
                : time.us < kernel_us              ? Bound::kLatency
                : time.compute_us > time.memory_us ? Bound::kCompute
                                                   : Bound::kMemory;
    device += one.us;
    estimate.host_ms += idle * 1e-3;
    if (op != nullptr)
      by_kind[static_cast<size_t>(op->kind)] += one.us;
    else
      other += one.us * step.sigma;
    estimate.operators.push_back(one);
  }
  const double total = std::max(device - begin, kernel_us);
  estimate.ms = total * 1e-3;
  // Kernels of one kind are wrong together, kinds independently of each other.
  double variance = other / total * other / total;
  for (int kind = 0; kind < task::kOperatorKinds; ++kind) {
    const double share = by_kind[static_cast<size_t>(kind)] / total;
    const double sigma = share * KindSigma(static_cast<OperatorKind>(kind));
    variance += sigma * sigma;
    if (share <= estimate.dominant_share) continue;
    estimate.dominant_share = share;
    estimate.dominant = static_cast<OperatorKind>(kind);
  }
  if (machine.assumed) variance += kSigmaAssumed * kSigmaAssumed;
  if (!machine.guesses.empty()) variance += kSigmaGuessed * kSigmaGuessed;
  estimate.uncertainty = std::exp(std::sqrt(variance));
  return estimate;
}

Estimate Model(const task::OperatorList& list, const Machine& machine, const Constants& constants) {
  std::vector<Step> steps;
  for (size_t i = 0; i < list.operators.size(); ++i) {
    const auto views = static_cast<double>(list.operators[i].views);
    steps.push_back({.op = static_cast<int64_t>(i),
                     .host_us = constants[machine.call_us] + views * constants[machine.view_us]});
  }
  return Walk(list, steps, machine, constants, {.flush_bytes = kFlushBytes});
}

}  // namespace kuafu::eager
