// SPDX-License-Identifier: Apache-2.0
// The gates in their order: parse, compile, run (with launch, compare and sanitize), portable.
#include "verify/verify.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <semaphore>

#include "base/hash.h"
#include "base/rng.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "verify/candidate.h"
#include "verify/compile_pool.h"
#include "verify/extension_gates.h"
#include "verify/feedback.h"
#include "verify/gates.h"
#include "verify/judge.h"
#include "verify/legality.h"
#include "verify/policy.h"
#include "verify/reward.h"
#include "verify/runner.h"
#include "verify/speed_gate.h"
#include "verify/trial_store.h"

namespace kuafu::verify {
namespace {

using verdict::Class;
using verdict::Gate;
using verdict::GateStatus;
using verdict::Verdict;

constexpr int kRunsMax = 4096;

Result<std::string> CandidateText(const Request& request) {
  if (!request.kernel_text.has_value()) return os::ReadFile(request.kernel_path, kSourceBytesMax);
  const auto bytes = static_cast<int64_t>(request.kernel_text->size());
  if (bytes <= kSourceBytesMax) return *request.kernel_text;
  return Error{Code::kExhausted, "the candidate has " + FormatBytes(bytes) + ", limit " +
                                     FormatBytes(kSourceBytesMax)};
}

}  // namespace

struct Verifier::Impl {
  Options options;
  std::unique_ptr<CompilePool> compilers;
  std::unique_ptr<TrialStore> trials;
  std::atomic<uint64_t> seed{0};
  std::mutex mutex;  // guards extensions
  std::unique_ptr<ExtensionHost> extensions;

  // Started by the first candidate that needs it: it imports PyTorch a second time.
  Result<ExtensionHost*> Extensions() {
    std::lock_guard lock(mutex);
    if (extensions == nullptr) {
      KUAFU_TRY(extensions, ExtensionHost::Start({.library = options.torch_library}));
    }
    return extensions.get();
  }
  std::counting_semaphore<kRunsMax> run_slots;

  explicit Impl(const Options& o)
      : options(o), run_slots(o.runs_max > 0 ? std::min<int>(o.runs_max, kRunsMax) : kRunsMax) {}

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

  // In one of the slots for running.
  Result<RunResult> RunOnce(const RunPlan& plan, const Compiled& compiled,
                            const std::vector<Binding>& bindings, const frontend::TrialSet& set) {
    run_slots.acquire();
    Result<RunResult> result = RunTrials(plan, compiled, bindings, set);
    // A machine without memory or an administrator does that to anybody; a candidate that does it
    // to itself does it again.
    if (result.ok() && result.value().killed) result = RunTrials(plan, compiled, bindings, set);
    run_slots.release();
    return result;
  }

  RunPlan PlanOf(const Request& request, const device::Target& target, uint32_t width,
                 const frontend::TrialSet& set, uint64_t run_seed) const {
    RunPlan plan;
    plan.runner = options.runner;
    plan.file = os::BaseName(request.kernel_path);
    plan.target = target;
    plan.warp_width = width;
    plan.sanitize = request.sanitize;
    plan.order_seeds = OrderSeeds(request, run_seed);
    plan.only_trial = request.only_trial;
    plan.sample_seed = run_seed;
    plan.timeout_ms = TimeoutMs(request);
    plan.count = request.on_profile != nullptr;
    const bool sampled = std::any_of(set.trials.begin(), set.trials.end(),
                                     [](const frontend::Trial& t) { return t.sampled; });
    if (sampled && !request.nominal) plan.timeout_ms += kSampledMs;
    return plan;
  }

  Result<Judgement> RunAt(const Request& request, const device::Target& target, uint32_t width,
                          const Compiled& compiled, const std::vector<Binding>& bindings,
                          const frontend::TrialSet& set, uint64_t run_seed, Verdict& v) {
    const RunPlan plan = PlanOf(request, target, width, set, run_seed);
    KUAFU_TRY(const RunResult result, RunOnce(plan, compiled, bindings, set));
    v.run_ms += result.ms;
    ReportProfile(request, plan, result);
    Judgement judgement = Judge(result, plan, set);
    NoteRun(v, judgement, plan);
    return judgement;
  }

  // `job` compiled to `compiled` for the first target.
  Result<Verdict> Run(const Request& request, Verdict v, const CompileJob& job,
                      const Compiled& compiled, const Manifest& manifest);
};

Result<Verdict> Verifier::Impl::Run(const Request& request, Verdict v, const CompileJob& job,
                                    const Compiled& compiled, const Manifest& manifest) {
  v.seed = request.seed != 0 ? request.seed : DrawnSeed();
  const TrialQuery query{.reference_path = request.reference_path,
                         .reference_text = request.reference_text,
                         .plan = request.plan,
                         .seed = v.seed,
                         .nominal_only = manifest.fixed_shapes,
                         .nominal_trial = request.nominal && !manifest.fixed_shapes};
  const auto made = trials->Get(query);
  if (!made.ok() && manifest.fixed_shapes && made.error().code == Code::kExhausted)
    return Reject(std::move(v), Class::kInconclusive, made.error().message);
  if (!made.ok()) return made.error();
  const std::shared_ptr<const frontend::TrialSet>& set = made.value();
  if (request.only_trial >= static_cast<int>(set->trials.size())) {
    return Error{Code::kInvalidInput, "--trial=" + std::to_string(request.only_trial) +
                                          ": this plan has trials 0 to " +
                                          std::to_string(set->trials.size() - 1)};
  }
  v.notes.insert(v.notes.end(), set->notes.begin(), set->notes.end());
  if (manifest.fixed_shapes) v.notes.push_back("judged at the nominal sizes only, as it declares");
  Result<std::vector<Binding>> bindings = Bind(manifest, set->task);
  if (!bindings.ok()) return Reject(std::move(v), Class::kFormatError, bindings.error().message);

  const auto run_at = [&](const device::Target& target, uint32_t width) -> Result<Judgement> {
    // Compiled anew where the architecture differs, so that code behind an #if is judged too.
    Compiled again;
    const uint32_t arch = ArchOf(*target.profile, job.musa);
    if (arch != job.arch) {
      CompileJob other_job = job;
      other_job.arch = arch;
      KUAFU_TRY(again, compilers->Compile(other_job));
      v.compile_ms += again.ms;
      if (!again.ok) {
        Judgement failed;
        failed.cls = Class::kCompileError;
        failed.summary = target.text + ": " + again.message;
        return failed;
      }
    }
    return RunAt(request, target, width, again.ok ? again : compiled, bindings.value(), *set,
                 v.seed, v);
  };
  KUAFU_TRY(Judgement chosen, RunTargets(request, run_at, v));
  const auto count = [&](int trial) -> Result<RunResult> {
    const device::Target& target = request.targets.front();
    const RunPlan plan =
        CountingPlan(PlanOf(request, target, target.profile->warp_width, *set, v.seed), trial);
    return RunOnce(plan, compiled, bindings.value(), *set);
  };
  KUAFU_TRY_STATUS(ApplySpeed({request, *trials, query, *set, count}, chosen, v));
  FillResult(v, chosen, request, *set);
  return v;
}

Verifier::Verifier(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Verifier::~Verifier() = default;

Result<std::unique_ptr<Verifier>> Verifier::Start(const Options& options) {
  auto impl = std::make_unique<Impl>(options);
  // The helper first: importing PyTorch takes longest, and it goes on while sources compile.
  KUAFU_TRY(impl->trials, TrialStore::Start(options.cache_dir));
  KUAFU_TRY(impl->compilers,
            CompilePool::Start(options.compiler, options.compile_workers, options.compiled_kept));
  return std::unique_ptr<Verifier>(new Verifier(std::move(impl)));
}

Result<Verdict> Verifier::Verify(const Request& request) {
  const int64_t begin = os::SystemClock().NowNs();
  const bool musa = EndsWith(request.kernel_path, ".mu");
  const bool extension = EndsWith(request.kernel_path, ".py");
  if (!musa && !extension && !EndsWith(request.kernel_path, ".cu")) {
    return Error{Code::kInvalidInput, "verifying '" + request.kernel_path +
                                          "': the name must end in .cu (CUDA), .mu (MUSA) or .py "
                                          "(a PyTorch extension)"};
  }
  if (request.targets.empty()) return Error{Code::kInvalidInput, "verifying: no target given"};
  if (!request.reference_text.has_value() && !os::FileExists(request.reference_path)) {
    return Error{Code::kInvalidInput,
                 "verifying against '" + request.reference_path + "': there is no such file"};
  }
  Result<std::string> text = CandidateText(request);
  Verdict v;
  v.task = os::BaseName(os::DirName(request.reference_path)) + "/" +
           os::BaseName(request.reference_path);
  v.target = request.targets.front().text;
  v.plan = PlanName(request.plan);
  v.reproducer = Reproducer(request, request.seed, -1);
  const auto finish = [&](Verdict done) {
    if (done.feedback.empty()) {  // nothing ran
      done.reward = RewardOf(done, {});
      done.feedback = FeedbackOf(done, {});
    }
    done.total_ms = static_cast<double>(os::SystemClock().NowNs() - begin) / os::kNsPerMs;
    return done;
  };
  if (!text.ok()) {
    if (text.error().code != Code::kExhausted)
      return std::move(text).error().WithContext("reading the candidate");
    return finish(Reject(std::move(v), Class::kCompileError, text.error().message));
  }
  v.candidate_hash = HashHex(text.value());
  if (extension) {
    v.form = "extension";
    KUAFU_TRY(ExtensionHost * host, impl_->Extensions());
    const Verdict before = v;
    impl_->run_slots.acquire();
    Result<Verdict> done = VerifyExtension({*host, *impl_->compilers, *impl_->trials}, request,
                                           std::move(v), text.value(), impl_->DrawnSeed());
    impl_->run_slots.release();
    if (!done.ok() && done.error().code == Code::kUnavailable)
      return finish(Reject(before, Class::kInfra, done.error().message));
    if (!done.ok()) return std::move(done).error();
    return finish(std::move(done).value());
  }
  Result<std::string> source = ExtractSource(text.value());
  Result<Manifest> manifest =
      source.ok() ? ParseManifest(source.value()) : Result<Manifest>(source.error());
  if (!manifest.ok())
    return finish(Reject(std::move(v), Class::kFormatError, manifest.error().message));
  Set(v, Gate::kParse, GateStatus::kPassed,
      std::to_string(SplitLines(source.value()).size()) + " lines of " + (musa ? "MUSA" : "CUDA"));

  const Policy* policy = nullptr;
  if (request.policy == "off" || request.compat_kernelbench) {
    Set(v, Gate::kLegality, GateStatus::kSkipped, "switched off");
  } else {
    KUAFU_TRY(policy, PolicyNamed(request.policy));
    if (ApplyLegality(CheckSource(source.value(), *policy), *policy,
                      os::BaseName(request.kernel_path), v))
      return finish(std::move(v));
  }

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
  if (policy != nullptr) {
    KUAFU_TRY(const auto found, CheckImportsOfFile(compiled.value().shared_object->get(), *policy));
    if (ApplyLegality(found, *policy, os::BaseName(request.kernel_path), v))
      return finish(std::move(v));
  }
  const Verdict before = v;
  Result<Verdict> done = impl_->Run(request, std::move(v), job, compiled.value(), manifest.value());
  if (!done.ok() && done.error().code == Code::kUnavailable)
    return finish(Reject(before, Class::kInfra, done.error().message));
  if (!done.ok()) return std::move(done).error();
  return finish(std::move(done).value());
}

}  // namespace kuafu::verify
