// SPDX-License-Identifier: Apache-2.0
// What a trainer is paid for a candidate: MusaCoder's equation 2.
//
//   v.reward = RewardOf(v, {.trials_right = 9});
#pragma once

#include <optional>

#include "verdict/verdict.h"

namespace kuafu::verify {

struct RewardOptions {
  double lambda = 0.5;          // weight of the speed bonus
  double v_max = 4;             // speed-ups above 1 + v_max earn no more
  bool sanitizer_fails = true;  // false: races and the like are judged by the outputs alone
};

// A failure, a candidate that breaks the rules, or no trial right: -1. With q the share of trials
// that are right, 0 < q < 1: -0.5 + 0.5 q. All right: 1 + lambda min(max(v - 1, 0), v_max), where v
// is `speedup`, reference time over candidate time; without it there is no bonus. A fault of the
// verifier is not scored.
//
// `trials_right` counts by the outputs alone; it is used when the sanitizer does not fail. Not
// positive: Verdict::trials_passed.
struct RewardInput {
  int trials_right = 0;
  std::optional<double> speedup;
  RewardOptions options;
};
verdict::Reward RewardOf(const verdict::Verdict& v, const RewardInput& input);

}  // namespace kuafu::verify
