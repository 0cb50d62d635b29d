// SPDX-License-Identifier: Apache-2.0
// Every observation becomes a failure with a class; the first class in the table of classes wins.
#include "verify/judge.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "task/compare.h"

namespace kuafu::verify {
namespace {

using verdict::Class;

// Of the remark that the protocol of most public benchmarks would have accepted it.
constexpr double kAllCloseTolerance = 1e-4;

class Judging {
 public:
  Judging(const RunPlan& plan, const frontend::TrialSet& set, Judgement& judgement)
      : plan_(plan), set_(set), judgement_(judgement) {}

  // The first failure of the first class in the table is kept.
  void Fail(Class cls, std::string summary, const TrialRun* run) {
    switch (verdict::GateOf(cls)) {
      case verdict::Gate::kParse: judgement_.parse_failed = true; break;
      case verdict::Gate::kLaunch: judgement_.launch_failed = true; break;
      case verdict::Gate::kRun: judgement_.run_failed = true; break;
      case verdict::Gate::kCompare: judgement_.compare_failed = true; break;
      case verdict::Gate::kLegality: judgement_.legality_failed = true; break;
      default: judgement_.sanitize_failed = true; break;
    }
    if (judgement_.cls != Class::kPass && judgement_.cls <= cls) return;
    judgement_.cls = cls;
    judgement_.summary = std::move(summary);
    judgement_.failing_trial = run == nullptr ? -1 : run->trial;
    judgement_.failing_order_seed =
        run == nullptr ? 0 : plan_.order_seeds[static_cast<size_t>(run->order)];
  }

  // True if this run shows nothing wrong.
  bool Look(const TrialRun& run) {
    const frontend::Trial& trial = set_.trials[static_cast<size_t>(run.trial)];
    judgement_.launches += run.launches;
    judgement_.lane_instructions += run.lane_instructions;
    if (judgement_.printf_output.empty()) judgement_.printf_output = run.printf_output;
    bool good = true;
    for (const verdict::Finding& f : run.findings) {
      AddFinding(f);
      Fail(f.cls, Summary(f), &run);
      good = false;
    }
    if (run.status == TrialRun::Status::kMismatch) {
      Fail(Class::kFormatError, "the entry function does not fit the reference: " + run.error,
           &run);
      return false;
    }
    if (run.status == TrialRun::Status::kThrew) {
      Fail(Class::kRuntimeError, "the entry function threw: " + run.error, &run);
      return false;
    }
    if (!run.inputs_modified.empty()) {
      Fail(Class::kInputModified,
           "the candidate changed its input " + Join(run.inputs_modified, ", "), &run);
      good = false;
    }
    if (run.same) return good;
    if (run.order > 0 && !run.float_atomics) {
      Fail(Class::kNondeterministic,
           "other bits under another order of warps and blocks, without float atomics", &run);
      good = false;
    }
    return CompareAll(run, trial) && good;
  }

  // Trials whose outputs were wrong under some order.
  int WrongTrials() const { return static_cast<int>(wrong_trials_.size()); }

 private:
  static std::string Summary(const verdict::Finding& f) {
    std::string text = f.message;
    if (f.line > 0) text += ", line " + std::to_string(f.line);
    return text;
  }

  void AddFinding(const verdict::Finding& f) {
    const bool known = std::any_of(judgement_.findings.begin(), judgement_.findings.end(),
                                   [&](const verdict::Finding& g) {
                                     return g.cls == f.cls && g.line == f.line &&
                                            g.other_line == f.other_line && g.kernel == f.kernel;
                                   });
    if (!known && judgement_.findings.size() < verdict::kMaxFindings)
      judgement_.findings.push_back(f);
  }

  bool CompareAll(const TrialRun& run, const frontend::Trial& trial) {
    if (run.outputs.size() != trial.outputs.size()) {
      Fail(Class::kWrongShape,
           std::to_string(run.outputs.size()) + " outputs instead of " +
               std::to_string(trial.outputs.size()),
           &run);
      wrong_trials_.insert(run.trial);
      return false;
    }
    const bool nominal = run.trial == 0 && run.order == 0;
    bool good = true, allclose = nominal;
    for (size_t i = 0; i < trial.outputs.size(); ++i) {
      const TrialRun::Output& output = run.outputs[i];
      const task::Expected& want = trial.outputs[i].expected;
      const std::string label = want.name.empty() ? "output " + std::to_string(i) : want.name;
      if (output.never_written > 0) {
        Fail(Class::kUnwrittenOutput,
             label + " has " + std::to_string(output.never_written) + " bytes that nobody wrote",
             &run);
        good = false;
      }
      const task::CompareResult compared = task::CompareOutput(output.tensor, want);
      if (nominal) allclose = allclose && task::AllClose(output.tensor, want, kAllCloseTolerance);
      if (!compared.ok) {
        const Class cls = compared.failure == task::Mismatch::kWrongShape   ? Class::kWrongShape
                          : compared.failure == task::Mismatch::kWrongDType ? Class::kWrongDtype
                                                                            : Class::kWrongResult;
        Fail(cls, label + ": " + compared.Text(), &run);
        good = false;
      }
      NoteError(compared, label);
    }
    if (nominal) judgement_.nominal_allclose = allclose;
    if (!good) wrong_trials_.insert(run.trial);
    return good;
  }

  // Keeps the first wrong one, else the one that came closest to its limit.
  void NoteError(const task::CompareResult& compared, const std::string& label) {
    const double ratio =
        compared.ok ? (compared.allowed > 0 ? compared.error_max / compared.allowed : 0) : INFINITY;
    if (ratio <= worst_ratio_) return;
    worst_ratio_ = ratio;
    judgement_.error = {.max_abs = compared.error_max,
                        .max_allowed = compared.allowed,
                        .rms = compared.error_rms,
                        .where = label + " at " + tensor::ShapeText(compared.where),
                        .got = compared.got,
                        .expected = compared.expected};
  }

  const RunPlan& plan_;
  const frontend::TrialSet& set_;
  Judgement& judgement_;
  std::set<int> wrong_trials_;
  double worst_ratio_ = -1;
};

std::string EndText(const RunResult& result, const RunPlan& plan) {
  switch (result.end) {
    case RunResult::End::kDone: return "it answered fewer trials than it was given";
    case RunResult::End::kDied:
      return "the candidate's host code ended the process: " + result.end_text;
    case RunResult::End::kTimeout:
      return "the trials took longer than " + std::to_string(plan.timeout_ms / 1000) +
             " s; see --timeout-s";
    case RunResult::End::kGarbage:
      return "the candidate's process answered with something that is no result: " +
             result.end_text;
  }
  return {};
}

}  // namespace

std::string TrialText(const frontend::Trial& trial) {
  return trial.shape_label + ": " + trial.shape_text + ", " + trial.value_class + " values";
}

Judgement Judge(const RunResult& result, const RunPlan& plan, const frontend::TrialSet& set) {
  Judgement judgement;
  Judging judging(plan, set, judgement);
  std::vector<int> good_runs(set.trials.size());
  for (const TrialRun& run : result.runs) {
    if (judging.Look(run)) ++good_runs[static_cast<size_t>(run.trial)];
  }
  const int orders = static_cast<int>(plan.order_seeds.size());
  judgement.runs = static_cast<int>(result.runs.size());
  judgement.trials_total = plan.only_trial >= 0 ? 1 : static_cast<int>(set.trials.size());
  for (const int good : good_runs) judgement.trials_passed += good == orders ? 1 : 0;
  std::set<int> answered;
  for (const TrialRun& run : result.runs) {
    if (run.status == TrialRun::Status::kOk) answered.insert(run.trial);
  }
  judgement.trials_right = static_cast<int>(answered.size()) - judging.WrongTrials();
  const bool complete = judgement.runs == judgement.trials_total * orders;
  if (result.end != RunResult::End::kDone || (!complete && judgement.cls == Class::kPass)) {
    const TrialRun* last = result.runs.empty() ? nullptr : &result.runs.back();
    judging.Fail(result.end == RunResult::End::kTimeout ? Class::kTimeout : Class::kRuntimeError,
                 EndText(result, plan), last);
  }
  std::stable_sort(judgement.findings.begin(), judgement.findings.end(),
                   [](const auto& a, const auto& b) { return a.cls < b.cls; });
  return judgement;
}

}  // namespace kuafu::verify
