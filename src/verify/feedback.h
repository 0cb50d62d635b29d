// SPDX-License-Identifier: Apache-2.0
// The text that goes into the next prompt: what failed first, where, the smallest input that shows
// it, what came out and what should have. Right candidates hear what costs time. Nothing that would
// let a candidate prepare for the test leaves here: no seed, no value class, no reproducer.
#pragma once

#include <string>

#include "verdict/verdict.h"

namespace kuafu::verify {

// What a verdict does not hold.
struct FeedbackFacts {
  std::string shapes;      // "x [7, 129]" of the smallest failing trial; empty = none
  bool own_values = true;  // its values were drawn as the task's get_inputs draws them
  int trials_right = 0;    // by outputs alone
  double launches = 0;     // per call; 0 = not known
  double lane_instructions = 0;
  bool sanitized = true;
};

std::string FeedbackOf(const verdict::Verdict& v, const FeedbackFacts& facts);

}  // namespace kuafu::verify
