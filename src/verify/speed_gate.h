// SPDX-License-Identifier: Apache-2.0
// The gate speed: runs a right candidate once more, with counters, and compares with PyTorch.
#pragma once

#include <functional>

#include "verify/gates.h"
#include "verify/trial_store.h"

namespace kuafu::verify {

// Which trial a speed is about: one at the sizes of the file if there is any.
int SpeedTrial(const frontend::TrialSet& set);

// The same as `plan` for one trial in lock-step, counted, without the sanitizer.
RunPlan CountingPlan(RunPlan plan, int trial);

struct SpeedGate {
  const Request& request;
  TrialStore& trials;
  TrialQuery query;  // of `set`
  const frontend::TrialSet& set;
  // On the first target, by CountingPlan.
  std::function<Result<RunResult>(int trial)> count;
};
// Fills v.speed and the gate when `chosen` passed and a speed was asked for; a speed that no GPU
// reaches makes `chosen` cheating. An Error is a fault of this installation.
Status ApplySpeed(const SpeedGate& gate, Judgement& chosen, verdict::Verdict& v);

}  // namespace kuafu::verify
