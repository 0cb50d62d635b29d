// SPDX-License-Identifier: Apache-2.0
#include "verify/gates.h"

#include <algorithm>

#include "base/rng.h"
#include "base/text.h"
#include "verify/feedback.h"
#include "verify/reward.h"

namespace kuafu::verify {

using verdict::Class;
using verdict::Gate;
using verdict::GateStatus;
using verdict::Verdict;

namespace {

constexpr int kQuickOrders = 2;
constexpr int kFullOrders = 8;
constexpr int kWarpWidthOfHabit = 32;  // what most CUDA code assumes
constexpr int kQuickSeconds = 10, kFullSeconds = 120;
constexpr int kSanitizerTimes = 3;  // its time is not the candidate's

}  // namespace

void Set(Verdict& v, Gate gate, GateStatus status, std::string evidence) {
  v.gates[static_cast<int>(gate)] = {status, std::move(evidence)};
}

// Ends a verdict before anything has run.
Verdict Reject(Verdict v, Class cls, std::string summary) {
  v.cls = cls;
  v.summary = std::string(SplitLines(summary).empty() ? summary : SplitLines(summary).front());
  Set(v, verdict::GateOf(cls),
      cls == Class::kInconclusive ? GateStatus::kSkipped : GateStatus::kFailed, std::move(summary));
  return v;
}

const char* PlanName(frontend::Plan plan) {
  return plan == frontend::Plan::kQuick ? "quick" : "full";
}

std::string Reproducer(const Request& request, uint64_t seed, int trial) {
  std::string targets;
  for (const device::Target& t : request.targets) targets += (targets.empty() ? "" : ",") + t.text;
  std::string line = "kuafu verify " + request.reference_path + " " + request.kernel_path +
                     " --target=" + targets + " --plan=" + PlanName(request.plan) +
                     " --seed=" + std::to_string(seed);
  if (trial >= 0) line += " --trial=" + std::to_string(trial);
  if (!request.sanitize) line += " --no-sanitize";
  if (request.nominal) line += " --nominal";
  return line;
}

std::vector<uint64_t> OrderSeeds(const Request& request, uint64_t seed) {
  if (request.on_profile != nullptr) return {0};
  const int orders = request.plan == frontend::Plan::kFull ? kFullOrders
                     : request.sanitize                    ? kQuickOrders
                                                           : 1;
  std::vector<uint64_t> seeds = {0};
  for (int i = 1; i < orders; ++i) seeds.push_back(DeriveSeed(seed, static_cast<uint64_t>(i)) | 1);
  return seeds;
}

void FillRunGates(Verdict& v, const Judgement& j, bool sanitize, const RunPlan& plan) {
  const auto status = [](bool failed) {
    return failed ? GateStatus::kFailed : GateStatus::kPassed;
  };
  if (j.parse_failed) Set(v, Gate::kParse, GateStatus::kFailed, j.summary);
  const bool ran = j.launches > 0 || j.runs > 0;
  Set(v, Gate::kLaunch, ran || j.launch_failed ? status(j.launch_failed) : GateStatus::kSkipped,
      std::to_string(j.launches) + " launches within the limits of " + plan.target.text);
  if (j.launch_failed) v.gates[static_cast<int>(Gate::kLaunch)].evidence = "see findings";
  Set(v, Gate::kRun, status(j.run_failed),
      std::to_string(j.runs) + " runs: " + std::to_string(j.trials_total) + " trials in " +
          std::to_string(plan.order_seeds.size()) + " orders, " +
          std::to_string(j.lane_instructions) + " lane instructions");
  std::string compared = "outputs of " + std::to_string(j.trials_right) + " of " +
                         std::to_string(j.trials_total) + " trials right";
  if (!j.error.where.empty())
    compared += (j.compare_failed ? "; worst: " : "; closest to its limit: ") + j.error.where;
  const bool open = j.cls == Class::kInconclusive;
  Set(v, Gate::kCompare, j.runs == 0 || open ? GateStatus::kSkipped : status(j.compare_failed),
      open ? j.summary : compared);
  Set(v, Gate::kSanitize,
      j.sanitize_failed ? GateStatus::kFailed
      : sanitize        ? GateStatus::kPassed
                        : GateStatus::kSkipped,
      j.sanitize_failed ? std::to_string(j.findings.size()) + " findings"
      : sanitize        ? "no findings"
                        : "races and uninitialised reads were not looked for");
}

int64_t TimeoutMs(const Request& request) {
  const int64_t sampled_ms = request.nominal ? kSampledMs : 0;
  if (request.timeout_s > 0) return int64_t{request.timeout_s} * 1000 + sampled_ms;
  const int seconds = request.plan == frontend::Plan::kQuick ? kQuickSeconds : kFullSeconds;
  return int64_t{seconds} * (request.sanitize ? kSanitizerTimes : 1) * 1000 + sampled_ms;
}

void ReportProfile(const Request& request, const RunPlan& plan, const RunResult& result) {
  const device::Profile& first = *request.targets.front().profile;
  if (request.on_profile == nullptr || plan.target.profile != &first ||
      plan.warp_width != first.warp_width)
    return;
  for (const TrialRun& run : result.runs) {
    if (run.profile.is_null()) continue;
    request.on_profile(run.profile);
    return;
  }
}

void NoteRun(Verdict& v, const Judgement& judgement, const RunPlan& plan) {
  const auto width = static_cast<int>(plan.warp_width);
  if (std::find(v.warp_widths.begin(), v.warp_widths.end(), width) != v.warp_widths.end()) return;
  v.warp_widths.push_back(width);
  if (v.warp_widths.size() == 1) FillRunGates(v, judgement, plan.sanitize, plan);
}

Result<Judgement> RunTargets(const Request& request, const RunAt& run_at, Verdict& v) {
  const device::Target& target = request.targets.front();
  const uint32_t width = target.profile->warp_width;
  KUAFU_TRY(Judgement first, run_at(target, width));
  Judgement chosen = first;
  std::string portable;
  bool failed = false;
  if (first.cls == Class::kPass) {
    for (size_t i = 1; i < request.targets.size() && !failed; ++i) {
      const device::Target& other = request.targets[i];
      KUAFU_TRY(Judgement judgement, run_at(other, other.profile->warp_width));
      portable += (portable.empty() ? "" : "; ") + other.text + ": " +
                  std::string(verdict::ClassName(judgement.cls));
      if (judgement.cls == Class::kPass) continue;
      failed = true;
      chosen = std::move(judgement);
      if (chosen.cls == Class::kCompileError) {
        portable = "does not compile for " + other.text;
      } else if (other.profile->warp_width != width) {
        chosen.summary = "right with " + std::to_string(width) + " lanes to a warp, but with " +
                         std::to_string(other.profile->warp_width) + ": " + chosen.summary;
        chosen.cls = Class::kWarpWidth;
      }
    }
    if (request.targets.size() == 1)
      portable = "one target, " + std::to_string(width) + " lanes to a warp";
  } else if (width != kWarpWidthOfHabit && first.cls > Class::kCompileError) {
    KUAFU_TRY(const Judgement habit, run_at(target, kWarpWidthOfHabit));
    if (habit.cls == Class::kPass) {
      failed = true;
      portable = "passes with 32 lanes to a warp; " + target.text + " has " + std::to_string(width);
      chosen.summary = portable + ": " + chosen.summary;
      chosen.cls = Class::kWarpWidth;
    }
  }
  if (first.cls == Class::kPass || failed)
    Set(v, Gate::kPortable, failed ? GateStatus::kFailed : GateStatus::kPassed, portable);
  chosen.nominal_allclose = first.nominal_allclose;
  return chosen;
}

void FillResult(Verdict& v, const Judgement& chosen, const Request& request,
                const frontend::TrialSet& set) {
  if (chosen.cls == Class::kCompileError) {
    v = Reject(std::move(v), chosen.cls, chosen.summary);
    return;
  }
  v.cls = chosen.cls;
  v.reason = chosen.reason;
  v.summary = chosen.summary;
  v.findings = chosen.findings;
  v.error = chosen.error;
  v.trials_passed = chosen.trials_passed;
  v.trials_total = chosen.trials_total;
  v.sampled = chosen.sampled;
  if (v.pass()) {
    v.summary =
        std::to_string(v.trials_total) + " trials right" +
        (request.sanitize && !request.compat_kernelbench ? ", no findings" : ", not sanitized");
  } else {
    if (chosen.failing_trial >= 0)
      v.failing_trial = TrialText(set.trials[static_cast<size_t>(chosen.failing_trial)]) +
                        ", order seed " + std::to_string(chosen.failing_order_seed);
    if (chosen.nominal_allclose)
      v.notes.push_back("a plain allclose(1e-4) at the nominal shape accepts this kernel");
  }
  if (!chosen.printf_output.empty())
    v.notes.push_back("the kernel printed: " + EscapeForMessage(chosen.printf_output));
  v.reproducer = Reproducer(request, v.seed, chosen.failing_trial);
  FeedbackFacts facts{.trials_right = chosen.trials_right,
                      .sanitized = request.sanitize && !request.compat_kernelbench};
  if (chosen.runs > 0) {
    facts.launches = static_cast<double>(chosen.launches) / chosen.runs;
    facts.lane_instructions = static_cast<double>(chosen.lane_instructions) / chosen.runs;
  }
  if (chosen.smallest_failing_trial >= 0) {
    const frontend::Trial& trial = set.trials[static_cast<size_t>(chosen.smallest_failing_trial)];
    facts.shapes = trial.shape_text;
    facts.own_values = trial.value_class == set.trials.front().value_class;
  }
  RewardInput paid{.trials_right = facts.trials_right};
  // At scaled sizes everything is a matter of launches.
  if (v.speed.known && v.speed.as_written) paid.speedup = v.speed.speedup;
  v.reward = RewardOf(v, paid);
  v.feedback = FeedbackOf(v, facts);
}

}  // namespace kuafu::verify
