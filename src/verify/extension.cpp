// SPDX-License-Identifier: Apache-2.0
// Parent of src/torchext/python/zygote.py, which forks a process for each candidate. The channel to
// that process is the candidate's as soon as its code runs: everything that comes is bounded and
// checked.
#include "verify/extension.h"

#include <signal.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "os/clock.h"
#include "os/fair_deadline.h"
#include "os/file.h"
#include "os/memfd.h"
#include "verify/legality.h"
#include "verify/policy.h"

namespace kuafu::verify {
namespace {

constexpr int kControlFd = 3;
constexpr int64_t kImportMs = 120'000;
constexpr int64_t kSendMs = 10'000;
constexpr int64_t kReplyBytesMax = 8 << 20;
constexpr int64_t kDyingMs = 2'000;
constexpr int64_t kForkMs = 60'000;
constexpr int64_t kLoadMs = 30'000;         // of the file, without compiling
constexpr int64_t kCompileMsMax = 120'000;  // of all extensions of one file
constexpr int kAttempts = 3;
constexpr size_t kUnitsMax = 15;
constexpr size_t kExtensionsMax = 64;
constexpr int64_t kMemoryBytesMax = int64_t{2} << 30;    // of the simulated device
constexpr int64_t kMappedBytesMax = int64_t{256} << 30;  // where memory costs nothing until touched
constexpr int64_t kReplyOfTimingBytesMax = 60 << 20;
constexpr int64_t kMaxDispatches = 200'000'000;  // of one call

Error Garbage(const std::string& what) { return Error{Code::kCorrupt, what}; }

Json ProfileJson(const device::Target& target, uint32_t warp_width) {
  const device::Profile& p = *target.profile;
  const auto known = [](int v) { return v == device::kUnknown ? 0 : v; };
  return {{"name", p.title},
          {"major", p.arch / 100},
          {"minor", p.arch / 10 % 10},
          {"warp_size", warp_width},
          {"multi_processor_count", known(p.sm_count)},
          {"max_threads_per_multi_processor", known(p.threads_per_sm_max)},
          {"total_memory", int64_t{known(p.memory_gib)} << 30}};
}

// The trials as the child wants them: like the runner's request, with origins and constructors.
Result<Json> TrialsJson(const ExtensionPlan& plan, const frontend::TrialSet& set, bool as_built) {
  std::vector<Binding> bindings;
  for (size_t i = 0; i < set.task.arguments.size(); ++i) {
    bindings.push_back(
        {.argument = static_cast<int>(i), .literal = {}, .name = set.task.arguments[i].name});
  }
  Json json = RequestJson(plan.run, bindings, set);
  for (size_t i = 0; i < set.trials.size(); ++i) {
    const frontend::Trial& trial = set.trials[i];
    Json& out = json["trials"][i];
    if (trial.init_json.empty()) {
      return Error{Code::kInvalidInput,
                   "an extension candidate has to be constructed with the arguments of the "
                   "reference, and they cannot be written down: see the notes of the task"};
    }
    KUAFU_TRY(out["init"], ParseJson(trial.init_json));
    out["model_seed"] = std::to_string(trial.model_seed);
    out["seed"] = std::to_string(trial.seed);
    for (size_t a = 0; a < set.task.arguments.size(); ++a)
      out["arguments"][a]["origin"] = std::string(task::OriginName(set.task.arguments[a].origin));
  }
  json["as_built"] = as_built;
  json["dropout_off"] = set.dropout_off;
  json["inputs_bytes"] = set.inputs_bytes;
  return json;
}

// One candidate's conversation.
class Conversation {
 public:
  Conversation(const ExtensionPlan& plan, CompilePool& compilers, const TrialSource& trials,
               os::Channel channel, os::Channel status)
      : plan_(plan),
        compilers_(compilers),
        trials_(trials),
        channel_(std::move(channel)),
        status_(std::move(status)) {}

  Result<ExtensionRun> Hold() {
    const int64_t begin = os::SystemClock().NowNs();
    const int64_t bytes_max = plan_.timing ? kReplyOfTimingBytesMax : kReplyBytesMax;
    KUAFU_TRY(pid_, TakePid());
    deadline_.emplace(pid_, plan_.timing ? plan_.run.timeout_ms : kLoadMs);
    while (!done_) {
      const Status in_time = deadline_->Check();
      if (!in_time.ok()) {
        if (in_time.error().code != Code::kDeadline) return in_time.error();
        run_.result.end = RunResult::End::kTimeout;
        break;
      }
      Result<os::Frame> frame = channel_.Receive(bytes_max, deadline_->Next());
      if (!frame.ok()) {
        if (frame.error().code == Code::kDeadline) continue;
        KUAFU_TRY_STATUS(End(frame.error()));
        break;
      }
      const Result<Json> message = ParseJson(frame.value().bytes, bytes_max);
      const Status status =
          message.ok() ? Handle(message.value(), frame.value()) : Status(message.error());
      if (status.ok()) continue;
      // Only what failed on our side is ours; what the candidate's process says wrongly is not.
      if (ours_) return status.error();
      run_.result.end = RunResult::End::kGarbage;
      run_.result.end_text = status.error().message;
      break;
    }
    run_.ms = static_cast<double>(os::SystemClock().NowNs() - begin) / os::kNsPerMs -
              run_.compile_ms - waited_ms_;
    run_.result.ms = run_.ms;
    return std::move(run_);
  }

 private:
  // What the zygote says of the process.
  Result<Json> TakeStatus(int64_t within_ms) {
    const auto frame = status_.Receive(4096, os::Deadline::AfterMs(within_ms));
    if (frame.ok()) return ParseJson(frame.value().bytes);
    if (frame.error().code == Code::kDeadline) return frame.error();
    return Error{Code::kUnavailable, "the process that starts candidates has died"};
  }
  Result<pid_t> TakePid() {
    KUAFU_TRY(const Json json, TakeStatus(kForkMs));
    KUAFU_TRY(const int64_t pid, JsonInt(json, "pid"));
    return static_cast<pid_t>(pid);
  }

  // The channel gave nothing more: how did the process end?
  Status End(const Error& error) {
    RunResult& result = run_.result;
    if (error.code != Code::kUnavailable) {
      result.end = RunResult::End::kGarbage;
      result.end_text = error.message;
      return OkStatus();
    }
    result.end = RunResult::End::kDied;
    const auto json = TakeStatus(kDyingMs);
    if (!json.ok() && json.error().code == Code::kDeadline) {
      result.end_text = "it closed its channel to us";
      return OkStatus();
    }
    if (!json.ok()) return json.error();
    os::ExitStatus status;
    if (const auto signal = JsonInt(json.value(), "signal"); signal.ok())
      status.signal = static_cast<int>(signal.value());
    if (const auto code = JsonInt(json.value(), "exit_code"); code.ok())
      status.exit_code = static_cast<int>(code.value());
    result.end_text = status.ToString();
    result.killed = status.signal == SIGKILL;
    if (status.signal == SIGXCPU) result.end = RunResult::End::kTimeout;
    return OkStatus();
  }

  Status Handle(const Json& message, os::Frame& frame) {
    if (!message.is_object()) return Garbage("a message that is no object");
    if (JsonFind(message, "infra") != nullptr) {
      KUAFU_TRY(const std::string text, JsonString(message, "infra"));
      ours_ = true;
      const auto where = JsonString(message, "where");
      return Error{Code::kUnavailable,
                   "the candidate's process: " + text + (where.ok() ? "\n" + where.value() : "")};
    }
    if (const Json* job = JsonFind(message, "compile")) return Compile(*job);
    if (const Json* findings = JsonFind(message, "legality")) return TakeLegality(*findings);
    if (JsonFind(message, "refused") != nullptr) {
      KUAFU_TRY(run_.refused, JsonString(message, "refused"));
      KUAFU_TRY(run_.refusal, JsonString(message, "error"));
      done_ = true;
      return OkStatus();
    }
    if (const Json* timing = JsonFind(message, "timing"); timing != nullptr && plan_.timing) {
      run_.timing = *timing;
      done_ = true;
      return OkStatus();
    }
    if (JsonFind(message, "ready") != nullptr) return SendTrials(false);
    if (JsonFind(message, "as_built") != nullptr) {
      KUAFU_TRY(run_.as_built, JsonString(message, "as_built"));
      return SendTrials(true);
    }
    if (JsonFind(message, "done") != nullptr) {
      done_ = true;
      return OkStatus();
    }
    return TakeAnswer(message, frame);
  }

  // One that is gone is told from its exit status, not from here.
  Status Reply(const Json& json, std::span<const int> fds) {
    const Status sent = channel_.Send(DumpJson(json), fds, os::Deadline::AfterMs(kSendMs));
    return sent.ok() || sent.error().code == Code::kUnavailable ? OkStatus() : sent;
  }
  // The rules that the text of a unit breaks.
  void CheckUnit(const UnitPlaces& unit, const Policy& policy);
  void AddLegality(LegalityFinding finding);
  Status Compile(const Json& job);
  Status TakeLegality(const Json& findings);
  Status SendTrials(bool as_built);
  Status TakeAnswer(const Json& message, os::Frame& frame);
  // What is waited for meanwhile is not the candidate's time.
  template <class F>
  auto NotCounted(F work) {
    const int64_t begin = os::SystemClock().NowNs();
    auto result = work();
    const int64_t spent = os::SystemClock().NowNs() - begin;
    deadline_->Add(spent);
    return std::pair{std::move(result), static_cast<double>(spent) / os::kNsPerMs};
  }

  const ExtensionPlan& plan_;
  CompilePool& compilers_;
  const TrialSource& trials_;
  os::Channel channel_, status_;
  ExtensionRun run_;
  pid_t pid_ = 0;
  std::optional<os::FairDeadline> deadline_;
  double waited_ms_ = 0;
  bool done_ = false, sent_ = false, sent_as_built_ = false;
  bool ours_ = false;  // an error that comes now is not the candidate's
};

void Conversation::AddLegality(LegalityFinding finding) {
  run_.rejected = run_.rejected || finding.reject;
  if (run_.legality.size() < verdict::kMaxFindings) run_.legality.push_back(std::move(finding));
}

void Conversation::CheckUnit(const UnitPlaces& unit, const Policy& policy) {
  for (LegalityFinding& f : CheckSource(unit.source, policy)) {
    f.line = LineInFile({unit}, unit.file, f.line);
    AddLegality(std::move(f));
  }
}

Status Conversation::Compile(const Json& json) {
  ExtensionJob job;
  job.musa = plan_.musa;
  job.arch = ArchOf(*plan_.run.target.profile, plan_.musa);
  const Json* units = JsonFind(json, "units");
  const Json* defines = JsonFind(json, "defines");
  if (units == nullptr || !units->is_array() || units->empty() || units->size() > kUnitsMax ||
      defines == nullptr || !defines->is_array() || run_.units.size() > kExtensionsMax)
    return Garbage("a request to compile without sources, or with too many");
  for (const Json& define : *defines) {
    if (define.is_string()) job.defines.push_back(define.get<std::string>());
  }
  std::vector<UnitPlaces> places;
  for (const Json& u : *units) {
    ExtensionUnit unit;
    KUAFU_TRY(unit.file, JsonString(u, "file"));
    KUAFU_TRY(unit.source, JsonString(u, "source"));
    KUAFU_TRY(unit.device, JsonBool(u, "device"));
    UnitPlaces place{unit.file, {}, unit.source, unit.device};
    if (const Json* list = JsonFind(u, "places"); list != nullptr && list->is_array()) {
      for (const Json& pair : *list) {
        if (pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() &&
            pair[1].is_number_integer())
          place.places.emplace_back(pair[0].get<int>(), pair[1].get<int>());
      }
    }
    places.push_back(std::move(place));
    job.units.push_back(std::move(unit));
  }
  run_.units.insert(run_.units.end(), places.begin(), places.end());
  const Policy* policy = nullptr;
  if (!plan_.policy.empty()) {
    ours_ = true;
    KUAFU_TRY(policy, PolicyNamed(plan_.policy));
    ours_ = false;
    for (const UnitPlaces& unit : places) CheckUnit(unit, *policy);
    if (run_.rejected) {
      done_ = true;
      return OkStatus();
    }
  }
  if (run_.compile_ms > kCompileMsMax)
    return Garbage("its extensions took longer than " + std::to_string(kCompileMsMax / 1000) +
                   " s to compile");
  ours_ = true;
  auto [compiled, ms] = NotCounted([&] { return compilers_.CompileExtension(job); });
  run_.compile_ms += ms;
  if (!compiled.ok()) return compiled.error();
  const CompiledExtension& c = compiled.value();
  if (c.ok && policy != nullptr) {
    KUAFU_TRY(auto found, CheckImportsOfFile(c.shared_object->get(), *policy));
    for (LegalityFinding& f : found) AddLegality(std::move(f));
  }
  ours_ = false;
  done_ = run_.rejected;
  if (done_) return OkStatus();
  if (!c.ok) {
    run_.compile_errors.push_back(c.message);
    return Reply({{"ok", false}, {"message", c.message}}, {});
  }
  ++run_.extensions;
  std::vector<int> fds = {c.shared_object->get()};
  Json device_units = Json::array();
  for (size_t i = 0; i < c.modules.size(); ++i) {
    if (c.modules[i] == nullptr) continue;
    device_units.push_back(i);
    fds.push_back(c.modules[i]->get());
  }
  return Reply({{"ok", true}, {"units", job.units.size()}, {"device_units", device_units}}, fds);
}

Status Conversation::TakeLegality(const Json& findings) {
  if (!findings.is_array() || findings.size() > verdict::kMaxFindings)
    return Garbage("a list of findings that is none");
  for (const Json& f : findings) {
    LegalityFinding finding;
    KUAFU_TRY(finding.code, JsonString(f, "code"));
    KUAFU_TRY(const std::string cls, JsonString(f, "class"));
    KUAFU_TRY(finding.cls, verdict::ParseClass(cls));
    KUAFU_TRY(const std::string severity, JsonString(f, "severity"));
    KUAFU_TRY(finding.message, JsonString(f, "message"));
    KUAFU_TRY(const int64_t line, JsonInt(f, "line"));
    finding.reject = severity == "reject";
    finding.line = static_cast<int>(std::clamp<int64_t>(line, 0, 1 << 24));
    AddLegality(std::move(finding));
  }
  done_ = run_.rejected;
  return OkStatus();
}

Status Conversation::SendTrials(bool as_built) {
  if ((as_built ? sent_as_built_ : sent_) || !run_.result.runs.empty())
    return Garbage("it asks for the trials a second time");
  (as_built ? sent_as_built_ : sent_) = true;
  ours_ = true;
  auto [set, ms] = NotCounted([&] { return trials_(as_built); });
  waited_ms_ += ms;
  if (!set.ok()) return set.error();
  run_.set = std::move(set).value();
  KUAFU_TRY(const Json json, TrialsJson(plan_, *run_.set, as_built));
  ours_ = false;
  const int fds[] = {run_.set->inputs.get()};
  deadline_.emplace(pid_, plan_.run.timeout_ms);
  return Reply(json, fds);
}

Status Conversation::TakeAnswer(const Json& message, os::Frame& frame) {
  if (run_.set == nullptr) return Garbage("an answer before the question");
  const size_t orders = plan_.run.order_seeds.size();
  if (run_.result.runs.size() >= run_.set->trials.size() * orders)
    return Garbage("more answers than questions");
  Result<TrialRun> run = ParseTrialRun(message, frame, run_.set->trials.size(), orders, "");
  if (!run.ok()) return Garbage(run.error().message);
  for (verdict::Finding& f : run.value().findings) {
    const int line = LineInFile(run_.units, f.file, f.line);
    const int other = LineInFile(run_.units, f.file, f.other_line);
    if (line == 0) continue;
    f.file = plan_.run.file;
    f.line = line;
    f.other_line = other;
  }
  run_.result.runs.push_back(std::move(run).value());
  return OkStatus();
}

}  // namespace

int LineInFile(const std::vector<UnitPlaces>& units, const std::string& file, int line) {
  int found = 0;
  for (const UnitPlaces& unit : units) {
    if (unit.file != file || line <= 0) continue;
    const auto lines = static_cast<int>(SplitLines(unit.source).size());
    if (line > lines) continue;
    for (const auto& [in_unit, in_file] : unit.places) {
      if (in_unit <= line) found = in_file + line - in_unit;
    }
  }
  return found;
}

Result<std::unique_ptr<ExtensionHost>> ExtensionHost::Start(const Options& options) {
  std::unique_ptr<ExtensionHost> host(new ExtensionHost(options));
  KUAFU_TRY_STATUS(host->Launch());
  return host;
}

ExtensionHost::~ExtensionHost() { Stop(); }

void ExtensionHost::Stop() {
  control_.Close();  // the zygote ends with its candidates
  if (process_.running()) {
    process_.Kill();
    const auto ignored = process_.Wait(os::Deadline::AfterMs(kDyingMs));
    static_cast<void>(ignored.ok());
  }
  ready_ = false;
}

Status ExtensionHost::Launch() {
  KUAFU_TRY(os::ChannelPair pair, os::CreateChannelPair());
  os::SpawnOptions spawn;
  spawn.environment = std::vector<std::string>{
      "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent", "OMP_NUM_THREADS=1",
      "MKL_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
      // Few large pages: most of a fork is page faults.
      "MALLOC_MMAP_THRESHOLD_=1073741824", "MALLOC_TRIM_THRESHOLD_=1073741824",
      "GLIBC_TUNABLES=glibc.malloc.hugetlb=1", "LD_PRELOAD=" + options_.library};
  spawn.inherited_fds = {{pair.theirs.get(), kControlFd}};
  spawn.stderr_stream = os::Stream::kCapture;
  spawn.capture_bytes_max = 64 * kKiB;
  // It ends by itself when the channel closes; the thread that starts it may be a short-lived one.
  spawn.die_with_parent = false;
  auto started =
      os::Spawn({options_.python, "-I", "-B", KUAFU_TORCHEXT_SCRIPT, options_.library}, spawn);
  if (!started.ok()) {
    return Error{Code::kUnavailable, "starting Python for extension candidates with " +
                                         options_.python + ": " + started.error().message};
  }
  process_ = std::move(started).value();
  control_ = std::move(pair.ours);
  ready_ = false;
  return OkStatus();
}

Status ExtensionHost::WaitReady() {
  if (!process_.running()) KUAFU_TRY_STATUS(Launch());
  if (ready_) return OkStatus();
  const auto frame = control_.Receive(kReplyBytesMax, os::Deadline::AfterMs(kImportMs));
  if (!frame.ok()) {
    return Error{Code::kUnavailable,
                 "starting PyTorch for extension candidates: " + frame.error().message + " " +
                     EscapeForMessage(Trim(process_.captured_stderr()), 300)};
  }
  KUAFU_TRY(const Json hello, ParseJson(frame.value().bytes));
  KUAFU_TRY(ready_, JsonBool(hello, "ready"));
  if (ready_) return OkStatus();
  const auto why = JsonString(hello, "error");
  return Error{Code::kUnavailable, "importing PyTorch for extension candidates: " +
                                       (why.ok() ? why.value() : "no reason given")};
}

Status ExtensionHost::Ask(const Json& request, std::span<const int> fds) {
  std::lock_guard lock(mutex_);
  Status status = WaitReady();
  if (status.ok()) status = control_.Send(DumpJson(request), fds, os::Deadline::AfterMs(kSendMs));
  if (!status.ok()) Stop();  // the next request starts a fresh one
  return status;
}

Result<ExtensionRun> ExtensionHost::Run(const ExtensionPlan& plan, CompilePool& compilers,
                                        const TrialSource& trials) {
  const Json request = {{"cpu_s", (kLoadMs + 2 * plan.run.timeout_ms) / 1000 + 2},
                        {"source", plan.source},
                        {"name", plan.run.file},
                        {"musa", plan.musa},
                        {"policy", plan.policy},
                        {"timing", plan.timing},
                        {"reference", plan.reference.has_value() ? Json(*plan.reference) : Json()},
                        {"profile", ProfileJson(plan.run.target, plan.run.warp_width)},
                        {"device",
                         {{"target", plan.run.target.text},
                          {"warp_width", plan.run.warp_width},
                          {"sanitize", plan.run.sanitize},
                          {"count", plan.run.count},
                          {"counts_only", plan.timing},
                          {"memory_bytes", plan.timing ? kMappedBytesMax : kMemoryBytesMax},
                          {"max_dispatches", kMaxDispatches}}}};
  for (int attempt = 1;; ++attempt) {
    Result<ExtensionRun> run = Converse(plan, compilers, trials, request);
    // A zygote that has died is not the candidate's fault: again, with a fresh one.
    if (run.ok() || run.error().code != Code::kUnavailable || attempt == kAttempts) return run;
  }
}

Result<ExtensionRun> ExtensionHost::Converse(const ExtensionPlan& plan, CompilePool& compilers,
                                             const TrialSource& trials, const Json& request) {
  KUAFU_TRY(os::ChannelPair channel, os::CreateChannelPair());
  KUAFU_TRY(os::ChannelPair status, os::CreateChannelPair());
  const int fds[] = {channel.theirs.get(), status.theirs.get()};
  KUAFU_TRY_STATUS(Ask(request, fds));
  channel.theirs.Reset();
  status.theirs.Reset();
  return Conversation(plan, compilers, trials, std::move(channel.ours), std::move(status.ours))
      .Hold();
}

}  // namespace kuafu::verify
