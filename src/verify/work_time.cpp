// SPDX-License-Identifier: Apache-2.0
#include "verify/work_time.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/hash.h"
#include "eager/model.h"
#include "perf/profile.h"
#include "simt/counters_json.h"
#include "task/operators_json.h"

namespace kuafu::verify {
namespace {

using H = HostConstant;

// A list, in the form of the two models.
struct Side {
  task::OperatorList list;
  std::vector<eager::Step> steps;
  std::vector<size_t> launches;  // of each step that is one: its number; others kNone
  int64_t launch_count = 0, operator_count = 0;
};
constexpr size_t kNone = SIZE_MAX;

bool Computes(task::OperatorKind kind) {
  return kind != task::OperatorKind::kCopy && kind != task::OperatorKind::kFill;
}

Result<Side> ReadSide(const Json& json, const std::vector<perf::KernelProfile>& kernels,
                      const HostConstants& host) {
  Side side;
  const Json* operators = JsonFind(json, "operators");
  const Json* items = JsonFind(json, "items");
  if (operators == nullptr || items == nullptr || !items->is_array())
    return Error{Code::kCorrupt, "reading a list of work: it has no operators or items"};
  KUAFU_TRY(side.list, task::OperatorsFromJson(*operators));
  const size_t known = side.list.operators.size();
  double pending_us = 0;  // of the host, for what is not a step
  for (const Json& item : *items) {
    if (!item.is_array() || item.size() != 3 || !item[0].is_string() ||
        !item[1].is_number_unsigned() || !item[2].is_number_unsigned())
      return Error{Code::kCorrupt, "reading a list of work: an item of another form"};
    const auto kind = item[0].get<std::string>();
    const auto number = item[1].get<uint64_t>();
    const bool captured = item[2].get<uint64_t>() != 0;
    if (kind == "call" || kind == "replay") {
      if (!captured) pending_us += host[kind == "call" ? H::extension_us : H::replay_us];
      continue;
    }
    eager::Step step{.host_us = captured ? 0 : pending_us + host[H::launch_us]};
    if (!captured) pending_us = 0;
    size_t launch = kNone;
    if (kind == "op") {
      if (number >= known) return Error{Code::kCorrupt, "reading a list of work: no such operator"};
      const task::Operator& op = side.list.operators[number];
      step.op = static_cast<int64_t>(number);
      if (!captured) {
        step.host_us += host[H::call_us] - host[H::launch_us] +
                        static_cast<double>(op.views) * host[H::view_us];
      }
      side.operator_count += Computes(op.kind) ? 1 : 0;
    } else if (kind == "launch") {
      if (number >= kernels.size())
        return Error{Code::kCorrupt, "reading a list of work: no such launch"};
      const perf::KernelTime& time = kernels[number].time;
      step.us = time.us;
      step.sigma = std::log(time.uncertainty);
      launch = number;
      ++side.launch_count;
    } else if (kind == "copy" || kind == "fill") {
      task::Operator op;
      op.op = kind;
      op.kind = kind == "copy" ? task::OperatorKind::kCopy : task::OperatorKind::kFill;
      op.written_bytes = static_cast<int64_t>(number);
      op.read_bytes = kind == "copy" ? op.written_bytes : 0;
      step.op = static_cast<int64_t>(side.list.operators.size());
      side.list.operators.push_back(std::move(op));
    } else {
      return Error{Code::kCorrupt, "reading a list of work: an item of another kind"};
    }
    side.steps.push_back(step);
    side.launches.push_back(launch);
  }
  return side;
}

WorkTime Unknown(WorkTime time, std::string why) {
  time.why = std::move(why);
  return time;
}

// What the longest part of the time is.
std::string Binds(const Side& side, const eager::Estimate& estimate,
                  const std::vector<perf::KernelProfile>& kernels) {
  std::map<std::string, double> parts;
  for (size_t i = 0; i < side.steps.size(); ++i) {
    const eager::OperatorTime& one = estimate.operators[i];
    std::string name = "host";
    if (one.bound == eager::Bound::kHost) {
    } else if (side.launches[i] != kNone) {
      name = "own " + std::string(perf::CostName(kernels[side.launches[i]].time.binds));
    } else {
      const task::Operator& op = side.list.operators[static_cast<size_t>(side.steps[i].op)];
      name = std::string(task::OperatorKindName(op.kind));
    }
    parts[name] += one.us;
  }
  const auto most = std::max_element(
      parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == parts.end() ? "" : most->first;
}

}  // namespace

HostConstants::HostConstants() {
  for (size_t i = 0; i < values_.size(); ++i) values_[i] = kHostConstants[i].value;
}

std::string HostConstants::Hash() const {
  std::string text = "form 1\n";
  for (size_t i = 0; i < values_.size(); ++i) {
    char line[96];
    std::snprintf(line, sizeof line, "%s %.6g\n", kHostConstants[i].name, values_[i]);
    text += line;
  }
  return HashHex(text);
}

std::string_view WorkKindName(WorkKind kind) {
  switch (kind) {
    case WorkKind::kKernels: return "own kernels";
    case WorkKind::kMixed: return "own kernels and PyTorch";
    case WorkKind::kPyTorch: return "PyTorch only";
  }
  return "";
}

WorkTime TimeOf(const Json& work, const device::Profile& profile, const HostConstants& host) {
  WorkTime time;
  const Json* timing = JsonFind(work, "timing");
  if (timing == nullptr) return Unknown(time, "nothing is listed");
  if (const auto why = JsonString(*timing, "why"); why.ok()) return Unknown(time, why.value());
  const Json *mine = JsonFind(*timing, "candidate"), *theirs = JsonFind(*timing, "reference"),
             *counters = JsonFind(*timing, "counters");
  if (mine == nullptr || theirs == nullptr || counters == nullptr)
    return Unknown(time, "nothing is listed");
  if (const Json* list = JsonFind(*timing, "approximate"); list != nullptr && list->is_array()) {
    for (const Json& name : *list)
      if (name.is_string()) time.approximate.push_back(name.get<std::string>());
  }
  const auto launches = simt::CountersFromJson(*counters);
  if (!launches.ok()) return Unknown(time, launches.error().message);
  const std::vector<perf::KernelProfile> kernels = perf::Profiles(profile, launches.value());
  const auto candidate = ReadSide(*mine, kernels, host);
  if (!candidate.ok()) return Unknown(time, candidate.error().message);
  const auto reference = ReadSide(*theirs, kernels, host);
  if (!reference.ok()) return Unknown(time, reference.error().message);
  const Side& side = candidate.value();
  time.launches = side.launch_count;
  time.operators = side.operator_count;
  time.kind = side.launch_count == 0     ? WorkKind::kPyTorch
              : side.operator_count == 0 ? WorkKind::kKernels
                                         : WorkKind::kMixed;
  if (reference.value().steps.empty()) return Unknown(time, "the reference does nothing");
  const eager::Machine machine = eager::MachineOf(profile);
  const eager::Constants constants;
  const eager::Protocol protocol{.start_us = host[H::start_us]};
  const eager::Estimate a = eager::Walk(side.list, side.steps, machine, constants, protocol);
  const eager::Estimate b =
      eager::Walk(reference.value().list, reference.value().steps, machine, constants, protocol);
  double own = 0;
  for (size_t i = 0; i < side.steps.size(); ++i)
    own += side.launches[i] != kNone ? a.operators[i].us : 0;
  time.ms = a.ms;
  time.reference_ms = b.ms;
  time.own_share = std::min(1.0, own * 1e-3 / a.ms);
  time.speedup = b.ms / a.ms;
  time.uncertainty = std::exp(std::hypot(std::log(a.uncertainty), std::log(b.uncertainty)));
  time.binds = Binds(side, a, kernels);
  time.known = true;
  return time;
}

}  // namespace kuafu::verify
