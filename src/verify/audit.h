// SPDX-License-Identifier: Apache-2.0
// Is a task worth judging candidates with? Answers that nobody has to compute are tried against the
// checker: zeros, one constant, an input, one row copied, the first elements only, the answer to
// other inputs, the answer with other parameters. What passes is a degenerate task.
//
//   Audit audit = AuditTask(ours, &benchmark);
//   if (audit.standing == Standing::kDegenerate) Exclude();
//
// Pure; any number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "frontend/frontend.h"

namespace kuafu::verify {

inline constexpr double kStrictTolerance = 1e-4, kLooseTolerance = 1e-2;

struct TrivialAnswer {
  std::string name;  // "zeros", "constant", "input x", "row 0 copied along 1", "first 32 elements",
                     // "answer to other inputs", "answer with other parameters"
  bool passes_ours = false;
  bool passes_strict = false;  // allclose 1e-4 at the benchmark's own trials
  bool passes_loose = false;   // allclose 1e-2 there: its fp16 tolerance, and its former one
  std::string caught_by;       // our first trial that rejects it: "negative_mean at odd"
};

enum class Standing : uint8_t {
  kSound,       // no such answer passes anywhere
  kRepaired,    // some passes the benchmark's protocol, none passes ours
  kDegenerate,  // some passes ours
};
std::string_view StandingName(Standing standing);

struct Audit {
  Standing standing = Standing::kSound;
  std::vector<TrivialAnswer> answers;  // those that pass somewhere
};

// Both sets made with TrialRequest::alternatives; `benchmark` with compat_kernelbench too, or null.
Audit AuditTask(const frontend::TrialSet& ours, const frontend::TrialSet* benchmark);

Json ToJson(const Audit& audit);

}  // namespace kuafu::verify
