// SPDX-License-Identifier: Apache-2.0
// The gates in their order: parse, compile, run (with launch, compare and sanitize), portable.
#include "verify/verify.h"

#include <algorithm>
#include <atomic>

#include "base/hash.h"
#include "base/rng.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "verify/candidate.h"
#include "verify/compile_pool.h"
#include "verify/judge.h"
#include "verify/runner.h"
#include "verify/trial_store.h"

namespace kuafu::verify {
namespace {

using verdict::Class;
using verdict::Gate;
using verdict::GateStatus;
using verdict::Verdict;

constexpr int kQuickOrders = 2;
constexpr int kFullOrders = 8;
constexpr int kQuickSeconds = 10, kFullSeconds = 120;
constexpr int kWarpWidthOfHabit = 32;  // what most CUDA code assumes

void Set(Verdict& v, Gate gate, GateStatus status, std::string evidence) {
  v.gates[static_cast<int>(gate)] = {status, std::move(evidence)};
}

// Ends a verdict before anything has run.
Verdict Reject(Verdict v, Class cls, std::string summary) {
  v.cls = cls;
  v.summary = std::string(SplitLines(summary).empty() ? summary : SplitLines(summary).front());
  Set(v, verdict::GateOf(cls), GateStatus::kFailed, std::move(summary));
  return v;
}

// What __CUDA_ARCH__ or __MUSA_ARCH__ is; a kernel may be tried on a device of the other vendor,
// whose number its dialect does not have.
uint32_t ArchOf(const device::Profile& profile, bool musa) {
  if (musa == profile.musa) return profile.arch;
  return musa ? 310 : 900;
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
  return line;
}

std::vector<uint64_t> OrderSeeds(const Request& request, uint64_t seed) {
  const int orders = request.plan == frontend::Plan::kFull ? kFullOrders
                     : request.sanitize                    ? kQuickOrders
                                                           : 1;
  std::vector<uint64_t> seeds = {0};  // lock-step first: its findings are the easiest to read
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
  Set(v, Gate::kCompare, j.runs == 0 ? GateStatus::kSkipped : status(j.compare_failed), compared);
  Set(v, Gate::kSanitize,
      j.sanitize_failed ? GateStatus::kFailed
      : sanitize        ? GateStatus::kPassed
                        : GateStatus::kSkipped,
      j.sanitize_failed ? std::to_string(j.findings.size()) + " findings"
      : sanitize        ? "no findings"
                        : "races and uninitialised reads were not looked for");
}

}  // namespace

struct Verifier::Impl {
  Options options;
  std::unique_ptr<CompilePool> compilers;
  std::unique_ptr<TrialStore> trials;
  std::atomic<uint64_t> seed{0};

  // One seed for this verifier, so that candidates of one reference share its trials. Drawn after
  // the first compilation: nothing that is compiled can know it.
  uint64_t DrawnSeed() {
    uint64_t drawn = seed.load();
    if (drawn != 0) return drawn;
    const os::Clock& clock = os::SystemClock();
    const uint64_t fresh =
        (Hash64(std::to_string(clock.NowNs()) + "/" + std::to_string(clock.WallNs())) >> 16) | 1;
    return seed.compare_exchange_strong(drawn, fresh) ? fresh : drawn;
  }

  Result<Judgement> RunAt(const Request& request, const device::Target& target, uint32_t width,
                          const Compiled& compiled, const std::vector<Binding>& bindings,
                          const frontend::TrialSet& set, uint64_t run_seed, Verdict& v) {
    RunPlan plan;
    plan.runner = options.runner;
    plan.file = os::BaseName(request.kernel_path);
    plan.target = target;
    plan.warp_width = width;
    plan.sanitize = request.sanitize;
    plan.order_seeds = OrderSeeds(request, run_seed);
    plan.only_trial = request.only_trial;
    const int seconds = request.timeout_s > 0                    ? request.timeout_s
                        : request.plan == frontend::Plan::kQuick ? kQuickSeconds
                                                                 : kFullSeconds;
    plan.timeout_ms = int64_t{seconds} * 1000;
    KUAFU_TRY(const RunResult result, RunTrials(plan, compiled, bindings, set));
    v.run_ms += result.ms;
    Judgement judgement = Judge(result, plan, set);
    const auto seen = [&](int w) { return w == static_cast<int>(width); };
    if (std::none_of(v.warp_widths.begin(), v.warp_widths.end(), seen)) {
      v.warp_widths.push_back(static_cast<int>(width));
      // The gates tell about the first run; the others are the portable gate.
      if (v.warp_widths.size() == 1) FillRunGates(v, judgement, request.sanitize, plan);
    }
    return judgement;
  }

  // `job` compiled to `compiled` for the first target.
  Result<Verdict> Run(const Request& request, Verdict v, CompileJob job, const Compiled& compiled,
                      const Manifest& manifest);
};

Result<Verdict> Verifier::Impl::Run(const Request& request, Verdict v, CompileJob job,
                                    const Compiled& compiled, const Manifest& manifest) {
  v.seed = request.seed != 0 ? request.seed : DrawnSeed();
  KUAFU_TRY(const std::shared_ptr<const frontend::TrialSet> set,
            trials->Get({.reference_path = request.reference_path,
                         .plan = request.plan,
                         .seed = v.seed,
                         .nominal_only = manifest.fixed_shapes}));
  if (request.only_trial >= static_cast<int>(set->trials.size())) {
    return Error{Code::kInvalidInput, "--trial=" + std::to_string(request.only_trial) +
                                          ": this plan has trials 0 to " +
                                          std::to_string(set->trials.size() - 1)};
  }
  v.notes.insert(v.notes.end(), set->notes.begin(), set->notes.end());
  if (manifest.fixed_shapes) v.notes.push_back("judged at the nominal sizes only (fixed_shapes)");
  Result<std::vector<Binding>> bindings = Bind(manifest, set->task);
  if (!bindings.ok()) return Reject(std::move(v), Class::kFormatError, bindings.error().message);

  const device::Target& target = request.targets.front();
  const uint32_t width = target.profile->warp_width;
  KUAFU_TRY(Judgement first,
            RunAt(request, target, width, compiled, bindings.value(), *set, v.seed, v));
  Judgement chosen = first;
  std::string portable;
  bool portable_failed = false;
  if (first.cls == Class::kPass) {
    for (size_t i = 1; i < request.targets.size() && !portable_failed; ++i) {
      const device::Target& other = request.targets[i];
      // Compiled anew where the architecture differs, so that code behind an #if is judged too.
      Compiled again;
      const uint32_t arch = ArchOf(*other.profile, job.musa);
      if (arch != job.arch) {
        CompileJob other_job = job;
        other_job.arch = arch;
        KUAFU_TRY(again, compilers->Compile(other_job));
        v.compile_ms += again.ms;
        if (!again.ok) {
          Set(v, Gate::kPortable, GateStatus::kFailed, "does not compile for " + other.text);
          return Reject(std::move(v), Class::kCompileError, other.text + ": " + again.message);
        }
      }
      KUAFU_TRY(Judgement judgement,
                RunAt(request, other, other.profile->warp_width, again.ok ? again : compiled,
                      bindings.value(), *set, v.seed, v));
      portable += (portable.empty() ? "" : "; ") + other.text + ": " +
                  std::string(verdict::ClassName(judgement.cls));
      if (judgement.cls == Class::kPass) continue;
      portable_failed = true;
      chosen = std::move(judgement);
      if (other.profile->warp_width != width) {
        chosen.summary = "right with " + std::to_string(width) + " lanes to a warp, but with " +
                         std::to_string(other.profile->warp_width) + ": " + chosen.summary;
        chosen.cls = Class::kWarpWidth;
      }
    }
    if (request.targets.size() == 1)
      portable = "one target, " + std::to_string(width) + " lanes to a warp";
  } else if (width != kWarpWidthOfHabit && first.cls != Class::kFormatError) {
    KUAFU_TRY(const Judgement habit, RunAt(request, target, kWarpWidthOfHabit, compiled,
                                           bindings.value(), *set, v.seed, v));
    if (habit.cls == Class::kPass) {
      portable_failed = true;
      portable = "passes with 32 lanes to a warp; " + target.text + " has " + std::to_string(width);
      chosen.summary = portable + ": " + chosen.summary;
      chosen.cls = Class::kWarpWidth;
    }
  }
  if (first.cls == Class::kPass || portable_failed)
    Set(v, Gate::kPortable, portable_failed ? GateStatus::kFailed : GateStatus::kPassed, portable);
  v.cls = chosen.cls;
  v.summary = chosen.summary;
  v.findings = std::move(chosen.findings);
  v.error = chosen.error;
  v.trials_passed = chosen.trials_passed;
  v.trials_total = chosen.trials_total;
  if (v.pass()) {
    v.summary = std::to_string(v.trials_total) + " trials right" +
                (request.sanitize ? ", no findings" : ", not sanitized");
  } else {
    if (chosen.failing_trial >= 0)
      v.failing_trial = TrialText(set->trials[static_cast<size_t>(chosen.failing_trial)]) +
                        ", order seed " + std::to_string(chosen.failing_order_seed);
    if (first.nominal_allclose)
      v.notes.push_back("a plain allclose(1e-4) at the nominal shape accepts this kernel");
  }
  if (!chosen.printf_output.empty())
    v.notes.push_back("the kernel printed: " + EscapeForMessage(chosen.printf_output));
  v.reproducer = Reproducer(request, v.seed, chosen.failing_trial);
  return v;
}

Verifier::Verifier(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Verifier::~Verifier() = default;

Result<std::unique_ptr<Verifier>> Verifier::Start(const Options& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  // The helper first: importing PyTorch takes longest, and it goes on while sources compile.
  KUAFU_TRY(impl->trials, TrialStore::Start(options.cache_dir));
  KUAFU_TRY(impl->compilers,
            CompilePool::Start(options.compiler, options.compile_workers, options.compiled_kept));
  return std::unique_ptr<Verifier>(new Verifier(std::move(impl)));
}

Result<Verdict> Verifier::Verify(const Request& request) {
  const int64_t begin = os::SystemClock().NowNs();
  const bool musa = EndsWith(request.kernel_path, ".mu");
  if (!musa && !EndsWith(request.kernel_path, ".cu")) {
    return Error{Code::kInvalidInput, "verifying '" + request.kernel_path +
                                          "': the name must end in .cu (CUDA) or .mu (MUSA)"};
  }
  if (request.targets.empty()) return Error{Code::kInvalidInput, "verifying: no target given"};
  if (!os::FileExists(request.reference_path)) {
    return Error{Code::kInvalidInput,
                 "verifying against '" + request.reference_path + "': there is no such file"};
  }
  Result<std::string> text = os::ReadFile(request.kernel_path, kSourceBytesMax);
  Verdict v;
  v.task = os::BaseName(os::DirName(request.reference_path)) + "/" +
           os::BaseName(request.reference_path);
  v.target = request.targets.front().text;
  v.plan = PlanName(request.plan);
  v.reproducer = Reproducer(request, request.seed, -1);
  const auto finish = [&](Verdict done) {
    done.total_ms = static_cast<double>(os::SystemClock().NowNs() - begin) / os::kNsPerMs;
    return done;
  };
  if (!text.ok()) {
    if (text.error().code != Code::kExhausted)
      return std::move(text).error().WithContext("reading the candidate");
    return finish(Reject(std::move(v), Class::kCompileError, text.error().message));
  }
  v.candidate_hash = HashHex(text.value());
  Result<std::string> source = ExtractSource(text.value());
  Result<Manifest> manifest =
      source.ok() ? ParseManifest(source.value()) : Result<Manifest>(source.error());
  if (!manifest.ok())
    return finish(Reject(std::move(v), Class::kFormatError, manifest.error().message));
  Set(v, Gate::kParse, GateStatus::kPassed,
      std::to_string(SplitLines(source.value()).size()) + " lines of " + (musa ? "MUSA" : "CUDA"));

  const uint32_t arch = ArchOf(*request.targets.front().profile, musa);
  const CompileJob job{std::move(source).value(), os::BaseName(request.kernel_path), musa, arch};
  Result<Compiled> compiled = impl_->compilers->Compile(job);
  if (!compiled.ok()) return finish(Reject(std::move(v), Class::kInfra, compiled.error().message));
  v.compile_ms = compiled.value().ms;
  if (!compiled.value().ok)
    return finish(Reject(std::move(v), Class::kCompileError, compiled.value().message));
  if (compiled.value().no_entry) {
    return finish(Reject(std::move(v), Class::kFormatError,
                         "no function returns a tensor; name the entry in a comment: "
                         "// kuafu: entry=NAME"));
  }
  Set(v, Gate::kCompile, GateStatus::kPassed,
      "clang for " + std::string(musa ? "mp_" : "sm_") + std::to_string(arch / 10) + ", entry " +
          compiled.value().entry);
  const Verdict before = v;
  Result<Verdict> done = impl_->Run(request, std::move(v), job, compiled.value(), manifest.value());
  if (!done.ok() && done.error().code == Code::kUnavailable)
    return finish(Reject(before, Class::kInfra, done.error().message));
  if (!done.ok()) return std::move(done).error();
  return finish(std::move(done).value());
}

}  // namespace kuafu::verify
