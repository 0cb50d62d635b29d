// SPDX-License-Identifier: Apache-2.0
// What the two forms of candidate share on the way to a verdict: filling in gates, orders of warps,
// time limits, the line that repeats a run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "verdict/verdict.h"
#include "verify/judge.h"
#include "verify/runner.h"
#include "verify/verify.h"

namespace kuafu::verify {

// What trials at the task's own sizes may take in addition.
inline constexpr int64_t kSampledMs = 60'000;

void Set(verdict::Verdict& v, verdict::Gate gate, verdict::GateStatus status, std::string evidence);
// Ends a verdict before anything has run. The summary's first line is the verdict's.
verdict::Verdict Reject(verdict::Verdict v, verdict::Class cls, std::string summary);
const char* PlanName(frontend::Plan plan);
std::string Reproducer(const Request& request, uint64_t seed, int trial);
// Lock-step first: its findings are the easiest to read.
std::vector<uint64_t> OrderSeeds(const Request& request, uint64_t seed);
int64_t TimeoutMs(const Request& request);
// The gates from launch on, by what one run showed.
void FillRunGates(verdict::Verdict& v, const Judgement& j, bool sanitize, const RunPlan& plan);
// Adds a run: the gates tell about the first one, the others are the portable gate.
void NoteRun(verdict::Verdict& v, const Judgement& judgement, const RunPlan& plan);
// Hands the counters of the first run on to who asked for them.
void ReportProfile(const Request& request, const RunPlan& plan, const RunResult& result);
// Runs the candidate for the first target, and for the others when that passes; at 32 lanes to a
// warp when it fails on a target of more. The judgement that decides; fills the gate portable.
using RunAt = std::function<Result<Judgement>(const device::Target& target, uint32_t warp_width)>;
Result<Judgement> RunTargets(const Request& request, const RunAt& run_at, verdict::Verdict& v);
// Class, summary, findings and error of a verdict whose run was judged.
void FillResult(verdict::Verdict& v, const Judgement& chosen, const Request& request,
                const frontend::TrialSet& set);

}  // namespace kuafu::verify
