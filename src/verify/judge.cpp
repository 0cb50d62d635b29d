// SPDX-License-Identifier: Apache-2.0
// Every observation becomes a failure with a class; the first class in the table of classes wins.
#include "verify/judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "base/text.h"
#include "task/compare.h"

namespace kuafu::verify {
namespace {

using verdict::Class;

// A sampled trial counts if the blocks that ran stand for the whole of each output.
constexpr double kCoverageMin = 0.999;

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
      case verdict::Gate::kCompare: judgement_.compare_failed |= cls != Class::kInconclusive; break;
      case verdict::Gate::kLegality: judgement_.legality_failed = true; break;
      default: judgement_.sanitize_failed = true; break;
    }
    if (judgement_.cls == cls && run != nullptr &&
        (judgement_.smallest_failing_trial < 0 ||
         InputElements(run->trial) < InputElements(judgement_.smallest_failing_trial)))
      judgement_.smallest_failing_trial = run->trial;
    if (judgement_.cls != Class::kPass && judgement_.cls <= cls) return;
    judgement_.smallest_failing_trial = run == nullptr ? -1 : run->trial;
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
    if (trial.sampled) NoteSampled(run, trial);
    for (const verdict::Finding& f : run.findings) {
      AddFinding(f);
      Fail(f.cls, Summary(f), &run);
      good = false;
    }
    if (!plan_.compat_kernelbench) good = LookAtLegality(run) && good;
    // What came after that says nothing about the candidate.
    if (trial.sampled && !run.blind.empty()) return good;
    if (run.status == TrialRun::Status::kMismatch) {
      Fail(Class::kFormatError,
           (plan_.extension ? "" : "the entry function does not fit the reference: ") + run.error,
           &run);
      return false;
    }
    if (run.status == TrialRun::Status::kThrew) {
      Fail(Class::kRuntimeError, (plan_.extension ? "" : "the entry function threw: ") + run.error,
           &run);
      return false;
    }
    if (!run.inputs_modified.empty() && !plan_.compat_kernelbench) {
      Fail(Class::kInputModified,
           "the candidate changed its input " + Join(run.inputs_modified, ", "), &run);
      good = false;
    }
    if (run.same) return good;
    if (run.order > 0 && !run.float_atomics && !plan_.compat_kernelbench) {
      Fail(Class::kNondeterministic,
           "other bits under another order of warps and blocks, without float atomics", &run);
      good = false;
    }
    return CompareAll(run, trial) && good;
  }

  // Sampled trials that prove nothing.
  const std::set<int>& inconclusive() const { return inconclusive_; }
  // Trials whose outputs were wrong under some order.
  int WrongTrials() const { return static_cast<int>(wrong_trials_.size()); }

 private:
  int64_t InputElements(int trial) const {
    int64_t elements = 0;
    for (const frontend::ArgumentValue& a : set_.trials[static_cast<size_t>(trial)].arguments) {
      if (a.kind != frontend::ArgumentValue::Kind::kTensor) continue;
      int64_t count = 1;
      for (const int64_t size : a.shape) count *= size;
      elements += count;
    }
    return elements;
  }

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

  void Illegal(Class cls, const char* code, std::string summary, const TrialRun& run) {
    const bool first = judgement_.cls == Class::kPass || cls < judgement_.cls;
    if (first) judgement_.reason = code;
    Fail(cls, std::move(summary), &run);
  }

  // Whether the results are the work of the candidate's own kernels.
  bool LookAtLegality(const TrialRun& run) {
    bool good = true;
    const auto illegal = [&](Class cls, const char* code, std::string text) {
      Illegal(cls, code, std::move(text), run);
      good = false;
    };
    if (!run.library_call.empty()) {
      illegal(Class::kIllegalFallback, "library_call",
              "the candidate calls " + run.library_call + ", a kernel of a library");
    }
    if (!plan_.legality) return good;
    if (!run.operators.empty()) {
      const auto& [name, line] = run.operators.front();
      illegal(Class::kIllegalFallback, "aten_operator",
              "forward() computes with PyTorch: " + name +
                  (line > 0 ? ", line " + std::to_string(line) : ""));
    }
    if (run.status != TrialRun::Status::kOk || !good || !run.blind.empty()) return good;
    for (size_t i = 0; i < run.origins.size() && good; ++i) {
      const TrialRun::Origin& origin = run.origins[i];
      const auto from = [&](std::string_view source) {
        return std::find(origin.sources.begin(), origin.sources.end(), source) !=
               origin.sources.end();
      };
      const std::string output = "output " + std::to_string(i);
      if (from("kernel") || origin.sources.empty()) continue;
      if (from("operator")) {
        illegal(Class::kIllegalFallback, "output_not_from_kernel",
                output + " was written by " + origin.op + ", not by a kernel of the candidate");
      } else if (from("host")) {
        illegal(Class::kIllegalFallback, "host_computed_output",
                output + " was copied from host memory, not computed by a kernel");
      } else if (from("state")) {
        illegal(Class::kCheating, "stale_output",
                output + " is memory that no kernel of this call has written");
      } else {
        illegal(Class::kCheating, "output_not_from_inputs",
                output + " does not depend on anything that came in");
      }
    }
    if (good && run.launches == 0)
      illegal(Class::kIllegalFallback, "no_launch", "forward() launched no kernel");
    return good;
  }

  // What of a sampled trial could be compared, and whether that proves anything.
  void NoteSampled(const TrialRun& run, const frontend::Trial& trial) {
    verdict::SampledTrial sampled;
    sampled.trial = TrialText(trial);
    sampled.seed = SampleSeed(plan_, static_cast<size_t>(run.trial));
    sampled.kernels = run.kernels;
    sampled.inconclusive = run.blind;
    double known = 0, elements = 0;
    for (size_t i = 0; i < run.outputs.size(); ++i) {
      const TrialRun::Output& o = run.outputs[i];
      const auto count = static_cast<double>(o.tensor.count());
      const auto mine = static_cast<double>(
          std::count_if(o.known.begin(), o.known.end(), [](uint8_t flag) { return flag != 0; }));
      known += mine;
      elements += count;
      if (!sampled.inconclusive.empty() || count == 0) continue;
      const std::string label = "of output " + std::to_string(i);
      if (mine == 0) {
        sampled.inconclusive = "nothing " + label + " could be compared";
      } else if (o.coverage < kCoverageMin) {
        char text[128];
        std::snprintf(text, sizeof text, "the blocks that ran stand for %.3g %% %s only",
                      100 * o.coverage, label.c_str());
        sampled.inconclusive = text;
      }
    }
    sampled.compared = elements > 0 ? known / elements : 0;
    if (!sampled.inconclusive.empty()) inconclusive_.insert(run.trial);
    judgement_.sampled.push_back(std::move(sampled));
  }

  // The outputs that belong to those of the trial; empty with a failure when they do not fit. A
  // null one is a buffer that the candidate left alone.
  std::vector<const TrialRun::Output*> Match(const TrialRun& run, const frontend::Trial& trial) {
    std::vector<const TrialRun::Output*> matched;
    size_t next = 0;
    for (const frontend::TrialOutput& want : trial.outputs) {
      const bool buffer = plan_.extension && want.argument >= 0;
      if (next < run.outputs.size() &&
          (!plan_.extension || run.outputs[next].argument == want.argument)) {
        matched.push_back(&run.outputs[next++]);
      } else if (buffer) {
        matched.push_back(nullptr);
      } else {
        next = run.outputs.size() + 1;
        break;
      }
    }
    if (next == run.outputs.size()) return matched;
    Fail(Class::kWrongShape,
         std::to_string(run.outputs.size()) + " outputs instead of " +
             std::to_string(trial.outputs.size()),
         &run);
    return {};
  }

  bool CompareAll(const TrialRun& run, const frontend::Trial& trial) {
    const std::vector<const TrialRun::Output*> outputs = Match(run, trial);
    if (outputs.empty()) {
      wrong_trials_.insert(run.trial);
      inconclusive_.erase(run.trial);
      return false;
    }
    const bool nominal = run.trial == 0 && run.order == 0;
    bool good = true, allclose = nominal;
    for (size_t i = 0; i < trial.outputs.size(); ++i) {
      if (outputs[i] == nullptr) continue;
      const TrialRun::Output& output = *outputs[i];
      const task::Expected& want = trial.outputs[i].expected;
      const std::string label = want.name.empty() ? "output " + std::to_string(i) : want.name;
      if (plan_.compat_kernelbench) {
        good = CompareAsKernelBench(output.tensor, want, label, run) && good;
        continue;
      }
      if (output.never_written > 0) {
        Fail(Class::kUnwrittenOutput,
             label + " has " + std::to_string(output.never_written) + " bytes that nobody wrote",
             &run);
        good = false;
      }
      const task::CompareResult compared = task::CompareOutput(output.tensor, want, output.known);
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
    if (!good) {
      wrong_trials_.insert(run.trial);
      inconclusive_.erase(run.trial);
    }
    return good;
  }

  bool CompareAsKernelBench(const tensor::HostTensor& y, const task::Expected& want,
                            const std::string& label, const TrialRun& run) {
    if (y.shape() != want.y64.shape()) {
      Fail(Class::kWrongShape,
           label + " has shape " + tensor::ShapeText(y.shape()) + " instead of " +
               tensor::ShapeText(want.y64.shape()),
           &run);
      return false;
    }
    if (task::AllClose(y, want, kAllCloseTolerance)) return true;
    Fail(Class::kWrongResult, label + ": allclose at 1e-4 refuses it", &run);
    return false;
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
  std::set<int> wrong_trials_, inconclusive_;
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
  int wanted = 0;
  for (size_t i = 0; i < set.trials.size(); ++i) {
    if (plan.only_trial >= 0 && plan.only_trial != static_cast<int>(i)) continue;
    wanted += static_cast<int>(OrdersOf(plan, set.trials[i]));
  }
  judgement.runs = static_cast<int>(result.runs.size());
  judgement.trials_total = plan.only_trial >= 0 ? 1 : static_cast<int>(set.trials.size());
  for (size_t i = 0; i < good_runs.size(); ++i) {
    const auto orders = static_cast<int>(OrdersOf(plan, set.trials[i]));
    if (!judging.inconclusive().contains(static_cast<int>(i)))
      judgement.trials_passed += good_runs[i] == orders ? 1 : 0;
  }
  // Neither for nor against the candidate.
  judgement.trials_total -= static_cast<int>(judging.inconclusive().size());
  std::set<int> answered;
  for (const TrialRun& run : result.runs) {
    if (run.status == TrialRun::Status::kOk && !judging.inconclusive().contains(run.trial))
      answered.insert(run.trial);
  }
  judgement.trials_right = static_cast<int>(answered.size()) - judging.WrongTrials();
  const bool complete = judgement.runs == wanted;
  if (result.end != RunResult::End::kDone || (!complete && judgement.cls == Class::kPass)) {
    const TrialRun* last = result.runs.empty() ? nullptr : &result.runs.back();
    judging.Fail(result.end == RunResult::End::kTimeout ? Class::kTimeout : Class::kRuntimeError,
                 EndText(result, plan), last);
  }
  if (judgement.cls == Class::kPass && judgement.trials_total == 0 && !judgement.sampled.empty())
    judging.Fail(Class::kInconclusive, judgement.sampled.front().inconclusive, nullptr);
  std::stable_sort(judgement.findings.begin(), judgement.findings.end(),
                   [](const auto& a, const auto& b) { return a.cls < b.cls; });
  return judgement;
}

}  // namespace kuafu::verify
