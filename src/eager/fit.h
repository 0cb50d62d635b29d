// SPDX-License-Identifier: Apache-2.0
// Tasks with published times, the part of them that constants are fitted to, and the fit.
//
//   if (eager::IsForFitting("level1/19_ReLU.py")) samples.push_back(...);
//   eager::Constants found = eager::Fit(samples, eager::Constants(), {});
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "eager/model.h"
#include "task/operators.h"

namespace kuafu::eager {

struct Sample {
  std::string id;  // "level1/19_ReLU.py"
  int level = 0;
  const task::OperatorList* list = nullptr;  // borrowed, for the call
  Machine machine;
  double measured_ms = 0;
};

// A third of all ids, by their hash: nobody chooses, and both GPUs have the same tasks.
bool IsForFitting(std::string_view id);

struct FitOptions {
  int rounds = 14;
  double prior = 0.1;  // weight of a constant that is at one of its limits, in samples off by e
};
struct FitResult {
  Constants constants;
  double loss_before = 0, loss_after = 0;
};
// One constant after the other, up or down while that helps; deterministic.
FitResult Fit(std::span<const Sample> samples, const Constants& start, const FitOptions& options);

}  // namespace kuafu::eager
