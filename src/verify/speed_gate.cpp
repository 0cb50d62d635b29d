// SPDX-License-Identifier: Apache-2.0
#include "verify/speed_gate.h"

#include "tensor/tensor.h"
#include "verify/speed.h"

namespace kuafu::verify {

using verdict::Gate;
using verdict::GateStatus;

namespace {

int64_t OutputBytes(const frontend::Trial& trial) {
  int64_t bytes = 0;
  for (const frontend::TrialOutput& output : trial.outputs) {
    const Result<int64_t> count = tensor::ElementCount(output.expected.y64.shape());
    if (count.ok()) bytes += count.value() * tensor::DTypeBytes(output.expected.dtype);
  }
  return bytes;
}

}  // namespace

int SpeedTrial(const frontend::TrialSet& set) {
  for (size_t i = 0; i < set.trials.size(); ++i) {
    if (set.trials[i].sampled) return static_cast<int>(i);
  }
  return 0;
}

RunPlan CountingPlan(RunPlan plan, int trial) {
  plan.sanitize = false;
  plan.order_seeds = {0};
  plan.only_trial = trial;
  plan.count = true;
  return plan;
}

Status ApplySpeed(const SpeedGate& gate, Judgement& chosen, verdict::Verdict& v) {
  const Request& request = gate.request;
  if (!request.speed || chosen.cls != verdict::Class::kPass || request.on_profile != nullptr ||
      request.compat_kernelbench)
    return OkStatus();
  const int index = request.only_trial >= 0 ? request.only_trial : SpeedTrial(gate.set);
  const frontend::Trial& trial = gate.set.trials[static_cast<size_t>(index)];
  const bool as_written = trial.sampled || gate.set.sizes_json == "{}";
  if (index != 0 && !trial.sampled) {
    v.speed.why = "trial " + std::to_string(index) + " is not one of the task's sizes";
    Set(v, Gate::kSpeed, GateStatus::kSkipped, SpeedText(v.speed));
    return OkStatus();
  }
  KUAFU_TRY(const RunResult result, gate.count(index));
  v.run_ms += result.ms;
  const TrialRun* run = nullptr;
  for (const TrialRun& one : result.runs) {
    if (one.trial == index && run == nullptr) run = &one;
  }
  if (run != nullptr && !run->blind.empty()) {
    v.speed.why = "at the sizes of the file " + run->blind;
    Set(v, Gate::kSpeed, GateStatus::kSkipped, SpeedText(v.speed));
    return OkStatus();
  }
  const Json none;
  std::vector<std::string> operators;
  if (run != nullptr) {
    for (const auto& [name, line] : run->operators) operators.push_back(name);
  }
  const auto list = gate.trials.ListOperators(gate.query, as_written ? "{}" : gate.set.sizes_json);
  v.speed = SpeedOf({.profile = *request.targets.front().profile,
                     .counters = run == nullptr ? none : run->profile,
                     .reference = list,
                     .as_written = as_written,
                     .output_bytes = OutputBytes(trial),
                     .operators = std::move(operators)});
  const std::string offence = WhyImpossible(v.speed);
  if (offence.empty()) {
    Set(v, Gate::kSpeed, v.speed.known ? GateStatus::kPassed : GateStatus::kSkipped,
        SpeedText(v.speed));
    return OkStatus();
  }
  chosen.cls = verdict::Class::kCheating;
  chosen.reason = "faster_than_physics";
  chosen.summary = offence;
  Set(v, Gate::kSpeed, GateStatus::kFailed, offence);
  return OkStatus();
}

}  // namespace kuafu::verify
