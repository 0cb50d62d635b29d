// SPDX-License-Identifier: Apache-2.0
#include "verify/extension_gates.h"

#include <optional>

#include "base/text.h"
#include "os/file.h"
#include "verify/candidate.h"
#include "verify/gates.h"
#include "verify/legality.h"
#include "verify/speed_gate.h"

namespace kuafu::verify {
namespace {

using verdict::Class;
using verdict::Gate;
using verdict::GateStatus;
using verdict::Verdict;

// A candidate for the other vendor says so by what it imports; one that includes CUDA's headers,
// which no MUSA source can, only asks whether torch_musa is there.
bool IsMusa(const std::string& source) {
  return (Contains(source, "torch_musa") || Contains(source, "musa_sources")) &&
         !Contains(source, "<cuda");
}

// What the file did before any trial: not loaded, or its extension did not compile.
Judgement JudgeRefusal(const ExtensionRun& run) {
  Judgement judgement;
  if (!run.compile_errors.empty()) {
    judgement.cls = Class::kCompileError;
    judgement.summary = run.compile_errors.front();
  } else if (run.refused == "mismatch") {
    judgement.cls = Class::kFormatError;
    judgement.summary = run.refusal;
    judgement.parse_failed = true;
  } else if (!run.refused.empty()) {
    judgement.cls = Class::kRuntimeError;
    judgement.summary = run.refusal;
    judgement.run_failed = true;
  } else {
    judgement.run_failed = true;
    judgement.cls =
        run.result.end == RunResult::End::kTimeout ? Class::kTimeout : Class::kRuntimeError;
    judgement.summary = run.result.end == RunResult::End::kTimeout
                            ? "loading the file took too long"
                            : "loading the file ended its process: " + run.result.end_text;
  }
  return judgement;
}

}  // namespace

Result<Verdict> VerifyExtension(const ExtensionServices& services, const Request& request,
                                Verdict v, const std::string& text, uint64_t drawn_seed) {
  Result<std::string> source = ExtractPython(text);
  Result<Manifest> manifest =
      source.ok() ? ParseManifest(source.value(), "#") : Result<Manifest>(source.error());
  if (!manifest.ok()) return Reject(std::move(v), Class::kFormatError, manifest.error().message);
  v.seed = request.seed != 0 ? request.seed : drawn_seed;
  const bool legality = !request.compat_kernelbench;
  const bool judged = legality && request.policy != "off";
  const std::string file = os::BaseName(request.kernel_path);
  TrialQuery query{.reference_path = request.reference_path,
                   .reference_text = request.reference_text,
                   .plan = request.plan,
                   .seed = v.seed,
                   .nominal_only = manifest.value().fixed_shapes,
                   .nominal_trial = request.nominal && !manifest.value().fixed_shapes,
                   .compat_kernelbench = request.compat_kernelbench};
  Set(v, Gate::kParse, GateStatus::kPassed,
      std::to_string(SplitLines(source.value()).size()) + " lines of Python");
  if (query.nominal_only) v.notes.push_back("judged at the nominal sizes only, as it declares");

  ExtensionPlan plan{
      .run = {.file = file,
              .sanitize = request.sanitize && legality,
              .order_seeds = legality ? OrderSeeds(request, v.seed) : std::vector<uint64_t>{0},
              .only_trial = request.only_trial,
              .sample_seed = v.seed,
              .timeout_ms =
                  TimeoutMs(request) + (query.nominal_only && !request.nominal ? kSampledMs : 0),
              .extension = true,
              .legality = judged,
              .compat_kernelbench = request.compat_kernelbench,
              .count = request.on_profile != nullptr},
      .source = source.value(),
      .musa = IsMusa(source.value()),
      .policy = judged ? request.policy : ""};
  if (request.compat_kernelbench) {
    plan.reference = request.reference_text;
    if (!plan.reference.has_value()) {
      KUAFU_TRY(plan.reference, os::ReadFile(request.reference_path, kSourceBytesMax));
    }
  }
  const TrialSource trials = [&](bool as_built) {
    TrialQuery wanted = query;
    wanted.as_built = as_built;
    return services.trials.Get(wanted);
  };
  std::shared_ptr<const frontend::TrialSet> set;
  ExtensionRun first;
  // Of the run that legality ended: it need not be the first, a file may look where it runs.
  std::optional<std::vector<LegalityFinding>> rejected;
  bool ran = false;
  const auto run_at = [&](const device::Target& target, uint32_t width) -> Result<Judgement> {
    plan.run.target = target;
    plan.run.warp_width = width;
    KUAFU_TRY(ExtensionRun run, services.host.Run(plan, services.compilers, trials));
    // As for the native form: what may have come from outside is tried once more.
    if (run.result.killed) {
      KUAFU_TRY(run, services.host.Run(plan, services.compilers, trials));
    }
    v.compile_ms += run.compile_ms;
    v.run_ms += run.ms;
    ReportProfile(request, plan.run, run.result);
    Judgement judgement;
    if (run.rejected) {
      rejected = run.legality;
      judgement.cls = Class::kIllegalFallback;
    } else if (run.set == nullptr) {
      judgement = JudgeRefusal(run);
    } else {
      judgement = Judge(run.result, plan.run, *run.set);
      if (!run.compile_errors.empty() && judgement.cls != Class::kPass && run.extensions == 0) {
        judgement.cls = Class::kCompileError;
        judgement.summary = run.compile_errors.front();
      }
    }
    if (!run.rejected && judgement.cls != Class::kCompileError) NoteRun(v, judgement, plan.run);
    if (!ran) {
      ran = true;
      set = run.set;
      first = std::move(run);
    }
    return judgement;
  };
  const Result<Judgement> judgement = RunTargets(request, run_at, v);
  if (!judgement.ok() && query.nominal_only && judgement.error().code == Code::kExhausted)
    return Reject(std::move(v), Class::kInconclusive, judgement.error().message);
  if (!judgement.ok()) return judgement.error();
  Judgement chosen = judgement.value();
  for (const std::string& missing : first.missing) v.notes.push_back(missing);
  if (judged) {
    KUAFU_TRY(const Policy* policy, PolicyNamed(request.policy));
    if (ApplyLegality(rejected.value_or(first.legality), *policy, file, v)) return v;
  }
  if (chosen.cls == Class::kCompileError)
    return Reject(std::move(v), Class::kCompileError, chosen.summary);
  Set(v, Gate::kCompile, first.extensions > 0 ? GateStatus::kPassed : GateStatus::kSkipped,
      std::to_string(first.extensions) + " extensions by clang");
  if (set == nullptr) {
    v.reproducer = Reproducer(request, v.seed, -1);
    return Reject(std::move(v), chosen.cls, chosen.summary);
  }
  Set(v, Gate::kLegality,
      !judged                  ? GateStatus::kSkipped
      : chosen.legality_failed ? GateStatus::kFailed
                               : GateStatus::kPassed,
      !judged                  ? "not part of this protocol"
      : chosen.legality_failed ? chosen.reason
                               : "policy " + request.policy + ": no rule was broken");
  v.notes.insert(v.notes.end(), set->notes.begin(), set->notes.end());
  if (!first.as_built.empty())
    v.notes.push_back("parameters as its constructor makes them from the seed: " + first.as_built);
  const auto count = [&](int trial) -> Result<RunResult> {
    plan.run.target = request.targets.front();
    plan.run.warp_width = plan.run.target.profile->warp_width;
    plan.run = CountingPlan(plan.run, trial);
    KUAFU_TRY(ExtensionRun run, services.host.Run(plan, services.compilers, trials));
    run.result.ms = run.ms;
    return std::move(run.result);
  };
  KUAFU_TRY_STATUS(ApplySpeed({request, services.trials, query, *set, count}, chosen, v));
  FillResult(v, chosen, request, *set);
  return v;
}

}  // namespace kuafu::verify
