// SPDX-License-Identifier: Apache-2.0
// From what a candidate did to what is wrong with it: compares outputs with the truth, collects
// findings, and picks the class. Pure: runs nothing.
#pragma once

#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "verdict/verdict.h"
#include "verify/runner.h"

namespace kuafu::verify {

// The judgement of one run, that is of one target at one warp width.
struct Judgement {
  verdict::Class cls = verdict::Class::kPass;
  std::string summary;                     // one sentence; empty when passed
  std::vector<verdict::Finding> findings;  // one per defect, causes first
  int smallest_failing_trial = -1;         // of the class: the one with the smallest inputs
  int failing_trial = -1;                  // of the class; -1 = none or not tied to one
  uint64_t failing_order_seed = 0;
  verdict::NumericError error;  // of the failing trial, or the worst of the passing ones
  int trials_passed = 0, trials_total = 0;
  int trials_right = 0;           // outputs alone: right under every order, whatever the findings
  int runs = 0;                   // trials times orders that gave an answer
  bool nominal_allclose = false;  // what numpy's allclose(1e-4, 1e-4) at the first trial says
  uint64_t launches = 0, lane_instructions = 0;
  std::string reason;  // of legality: the code of the rule
  std::string printf_output;
  std::vector<verdict::SampledTrial> sampled;
  // True if some failure of this kind was seen, whatever the class is; for the gates of a report.
  bool sanitize_failed = false, compare_failed = false, run_failed = false, launch_failed = false;
  bool parse_failed = false, legality_failed = false;
};

Judgement Judge(const RunResult& result, const RunPlan& plan, const frontend::TrialSet& set);

// "odd: x [7, 129], large_mean values".
std::string TrialText(const frontend::Trial& trial);

}  // namespace kuafu::verify
