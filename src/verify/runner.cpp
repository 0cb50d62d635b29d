// SPDX-License-Identifier: Apache-2.0
// Client side of `kuafu-runner --trials`: one request, then a frame for each trial and order.
#include "verify/runner.h"

#include <algorithm>
#include <csignal>

#include "base/rng.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/fair_deadline.h"
#include "os/process.h"

namespace kuafu::verify {
namespace {

constexpr int64_t kReplyBytesMax = 4 << 20;
constexpr int64_t kOutputBytesMax = int64_t{4} << 30;
constexpr int64_t kMemoryBytesMax = int64_t{2} << 30;  // of the simulated device
constexpr int64_t kMaxDispatches = 200'000'000;        // of one launch
constexpr int64_t kSendMs = 5'000;
// Of a sampled trial, in lane instructions: a launch that costs no more is executed whole, and what
// all launches together may cost.
constexpr int64_t kLaunchLanes = 1'000'000'000, kCallLanes = 16'000'000'000;
constexpr int64_t kDyingMs = 500;
constexpr size_t kOutputsMax = 64;
constexpr size_t kOperatorsMax = 4096;

Json ArgumentJson(const Binding& binding, const frontend::Trial& trial) {
  using Kind = frontend::ArgumentValue::Kind;
  const frontend::ArgumentValue& value =
      binding.argument < 0 ? binding.literal
                           : trial.arguments[static_cast<size_t>(binding.argument)];
  switch (value.kind) {
    case Kind::kNone: return {{"kind", "none"}};
    case Kind::kInt: return {{"kind", "int"}, {"value", value.integer}};
    case Kind::kReal: return {{"kind", "real"}, {"value", value.real}};
    case Kind::kBool: return {{"kind", "bool"}, {"value", value.integer != 0}};
    case Kind::kIntList: return {{"kind", "int_list"}, {"value", value.integers}};
    case Kind::kTensor: break;
  }
  const bool output =
      std::any_of(trial.outputs.begin(), trial.outputs.end(), [&](const frontend::TrialOutput& o) {
        return o.argument >= 0 && o.argument == binding.argument;
      });
  return {{"kind", "tensor"},
          {"name", binding.name},
          {"dtype", tensor::DTypeName(value.dtype)},
          {"shape", value.shape},
          {"strides", value.strides},
          {"offset", value.offset},
          {"storage_at", value.storage_at},
          {"storage_bytes", value.storage_bytes},
          {"output", output}};
}

Result<verdict::Finding> FindingFromJson(const Json& j, const std::string& file) {
  verdict::Finding f;
  KUAFU_TRY(const std::string cls, JsonString(j, "class"));
  KUAFU_TRY(f.cls, verdict::ParseClass(cls));
  KUAFU_TRY(f.message, JsonString(j, "message"));
  KUAFU_TRY(f.kernel, JsonString(j, "kernel"));
  KUAFU_TRY(const int64_t line, JsonInt(j, "line"));
  KUAFU_TRY(const int64_t column, JsonInt(j, "column"));
  KUAFU_TRY(const int64_t other_line, JsonInt(j, "other_line"));
  KUAFU_TRY(f.block, JsonString(j, "block"));
  KUAFU_TRY(f.thread, JsonString(j, "thread"));
  KUAFU_TRY(f.other_block, JsonString(j, "other_block"));
  KUAFU_TRY(f.other_thread, JsonString(j, "other_thread"));
  KUAFU_TRY(f.allocation, JsonString(j, "allocation"));
  const auto bounded = [](int64_t v) {
    return static_cast<int>(std::clamp<int64_t>(v, 0, 1 << 24));
  };
  f.line = bounded(line);
  f.column = bounded(column);
  f.other_line = bounded(other_line);
  f.file = file;
  if (file.empty()) {
    KUAFU_TRY(f.file, JsonString(j, "file"));
  }
  return f;
}

Result<TrialRun::Output> OutputFromJson(const Json& j, const std::shared_ptr<os::Mapping>& memory) {
  TrialRun::Output output;
  KUAFU_TRY(const std::string name, JsonString(j, "dtype"));
  const auto dtype = tensor::ParseDType(name);
  const Json* sizes = JsonFind(j, "shape");
  if (!dtype.has_value() || sizes == nullptr || !sizes->is_array() ||
      static_cast<int64_t>(sizes->size()) > tensor::kRankMax) {
    return Error{Code::kCorrupt, "an output without a shape or a known type"};
  }
  tensor::Shape shape;
  for (const Json& size : *sizes) {
    if (!size.is_number_integer()) return Error{Code::kCorrupt, "a shape that is no list of sizes"};
    shape.push_back(size.get<int64_t>());
  }
  KUAFU_TRY(const int64_t at, JsonInt(j, "at"));
  KUAFU_TRY(const int64_t bytes, JsonInt(j, "bytes"));
  KUAFU_TRY(output.never_written, JsonInt(j, "never_written"));
  KUAFU_TRY(const int64_t argument, JsonInt(j, "argument"));
  output.argument = static_cast<int>(std::clamp<int64_t>(argument, -1, task::kArgumentsMax));
  if (JsonFind(j, "coverage") != nullptr) {
    KUAFU_TRY(output.coverage, JsonNumber(j, "coverage"));
  }
  const int64_t size = memory == nullptr ? 0 : memory->size_bytes();
  if (at < 0 || bytes < 0 || at > size || bytes > size - at)
    return Error{Code::kCorrupt, "an output outside the memory that came with it"};
  KUAFU_TRY(const int64_t count, tensor::ElementCount(shape));
  if (count > bytes / tensor::DTypeBytes(*dtype))
    return Error{Code::kCorrupt, "an output that is shorter than its shape"};
  if (JsonFind(j, "known_at") != nullptr) {
    KUAFU_TRY(const int64_t known_at, JsonInt(j, "known_at"));
    if (known_at < 0 || count > size || known_at > size - count)
      return Error{Code::kCorrupt, "flags of an output outside the memory that came with it"};
    if (count > 0)
      output.known =
          memory->bytes().subspan(static_cast<size_t>(known_at), static_cast<size_t>(count));
  }
  void* data = memory == nullptr ? nullptr : memory->bytes().data() + at;
  tensor::Shape strides = tensor::ContiguousStrides(shape);
  KUAFU_TRY(output.tensor, tensor::HostTensor::View(*dtype, std::move(shape), std::move(strides),
                                                    memory, data, bytes));
  return output;
}

Result<uint64_t> Counter(const Json& reply, const char* key) {
  const Json* counters = JsonFind(reply, "counters");
  if (counters == nullptr) return Error{Code::kCorrupt, "an answer without counters"};
  KUAFU_TRY(const int64_t value, JsonInt(*counters, key));
  return static_cast<uint64_t>(std::max<int64_t>(value, 0));
}

// What only sampled trials answer.
Status ReadSampling(const Json& reply, TrialRun& run) {
  const Json* sampling = JsonFind(reply, "sampling");
  if (sampling == nullptr) return OkStatus();
  KUAFU_TRY(run.blind, JsonString(*sampling, "blind"));
  const Json* launches = JsonFind(*sampling, "launches");
  if (launches == nullptr || !launches->is_array() || launches->size() > kOperatorsMax)
    return Error{Code::kCorrupt, "an answer with malformed launches"};
  for (const Json& l : *launches) {
    verdict::SampledTrial::Kernel kernel;
    KUAFU_TRY(kernel.name, JsonString(l, "kernel"));
    const auto count = [&](const char* key) -> Result<uint64_t> {
      KUAFU_TRY(const int64_t value, JsonInt(l, key));
      return static_cast<uint64_t>(std::max<int64_t>(value, 0));
    };
    KUAFU_TRY(kernel.blocks, count("blocks"));
    KUAFU_TRY(kernel.blocks_run, count("blocks_run"));
    KUAFU_TRY(kernel.blocks_given_up, count("given_up"));
    KUAFU_TRY(const std::string why, JsonString(l, "why_whole"));
    KUAFU_TRY(const bool too_costly, JsonBool(l, "too_costly"));
    if (too_costly && run.blind.empty()) {
      run.blind = kernel.name + " costs too much at this size" +
                  (why.empty() ? "" : " and has to run whole: " + why);
    }
    run.kernels.push_back(std::move(kernel));
  }
  return OkStatus();
}

// What only extension candidates answer.
Status ReadOrigins(const Json& reply, TrialRun& run) {
  const Json* operators = JsonFind(reply, "operators");
  const Json* origins = JsonFind(reply, "origins");
  if (operators == nullptr || origins == nullptr) return OkStatus();
  if (!operators->is_array() || !origins->is_array() || operators->size() > kOperatorsMax ||
      origins->size() > kOutputsMax)
    return Error{Code::kCorrupt, "an answer with malformed origins"};
  for (const Json& o : *operators) {
    if (!o.is_array() || o.size() != 2 || !o[0].is_string() || !o[1].is_number_integer())
      return Error{Code::kCorrupt, "an operator without name and line"};
    run.operators.emplace_back(o[0].get<std::string>(), o[1].get<int>());
  }
  for (const Json& o : *origins) {
    TrialRun::Origin origin;
    KUAFU_TRY(origin.op, JsonString(o, "operator"));
    const Json* sources = JsonFind(o, "sources");
    if (sources == nullptr || !sources->is_array())
      return Error{Code::kCorrupt, "an origin without its sources"};
    for (const Json& source : *sources) {
      if (source.is_string()) origin.sources.push_back(source.get<std::string>());
    }
    run.origins.push_back(std::move(origin));
  }
  return OkStatus();
}

}  // namespace

uint64_t SampleSeed(const RunPlan& plan, size_t trial) {
  return DeriveSeed(plan.sample_seed, 0x626c6f636bull + trial);
}

size_t OrdersOf(const RunPlan& plan, const frontend::Trial& trial) {
  return trial.sampled ? std::min<size_t>(plan.order_seeds.size(), 1) : plan.order_seeds.size();
}

Json RequestJson(const RunPlan& plan, const std::vector<Binding>& bindings,
                 const frontend::TrialSet& set) {
  Json trials = Json::array();
  for (size_t i = 0; i < set.trials.size(); ++i) {
    Json arguments = Json::array();
    for (const Binding& binding : bindings)
      arguments.push_back(ArgumentJson(binding, set.trials[i]));
    const bool skip = plan.only_trial >= 0 && plan.only_trial != static_cast<int>(i);
    trials.push_back({{"arguments", std::move(arguments)}, {"skip", skip}});
    if (!set.trials[i].sampled) continue;
    trials.back()["sampling"] = {{"seed", std::to_string(SampleSeed(plan, i))},
                                 {"launch_lanes", kLaunchLanes},
                                 {"call_lanes", kCallLanes}};
  }
  Json seeds = Json::array();
  for (const uint64_t seed : plan.order_seeds) seeds.push_back(std::to_string(seed));
  return {{"target", plan.target.text},      {"warp_width", plan.warp_width},
          {"sanitize", plan.sanitize},       {"check_inputs", !set.inputs_mutated},
          {"order_seeds", std::move(seeds)}, {"max_dispatches", kMaxDispatches},
          {"memory_bytes", kMemoryBytesMax}, {"count", plan.count},
          {"trials", std::move(trials)}};
}

Result<TrialRun> ParseTrialRun(const Json& reply, os::Frame& frame, size_t trials, size_t orders,
                               const std::string& file) {
  TrialRun run;
  KUAFU_TRY(const int64_t trial, JsonInt(reply, "trial"));
  KUAFU_TRY(const int64_t order, JsonInt(reply, "order"));
  if (trial < 0 || order < 0 || static_cast<size_t>(trial) >= trials ||
      static_cast<size_t>(order) >= orders) {
    return Error{Code::kCorrupt, "an answer to a trial that was not asked for"};
  }
  run.trial = static_cast<int>(trial);
  run.order = static_cast<int>(order);
  KUAFU_TRY(const std::string status, JsonString(reply, "status"));
  KUAFU_TRY(run.error, JsonString(reply, "error"));
  if (status == "mismatch")
    run.status = TrialRun::Status::kMismatch;
  else if (status == "threw")
    run.status = TrialRun::Status::kThrew;
  else if (status != "ok")
    return Error{Code::kCorrupt, "an answer with an unknown status"};
  KUAFU_TRY(run.same, JsonBool(reply, "same"));
  KUAFU_TRY(run.float_atomics, JsonBool(reply, "float_atomics"));
  KUAFU_TRY(run.launches, Counter(reply, "launches"));
  KUAFU_TRY(run.lane_instructions, Counter(reply, "lane_instructions"));
  KUAFU_TRY(run.printf_output, JsonString(reply, "printf"));
  if (const Json* profile = JsonFind(reply, "profile")) run.profile = *profile;
  const Json* modified = JsonFind(reply, "inputs_modified");
  const Json* findings = JsonFind(reply, "findings");
  const Json* outputs = JsonFind(reply, "outputs");
  if (modified == nullptr || findings == nullptr || !modified->is_array() ||
      !findings->is_array() || findings->size() > verdict::kMaxFindings ||
      modified->size() > verdict::kMaxFindings) {
    return Error{Code::kCorrupt, "an answer without its lists"};
  }
  for (const Json& name : *modified) {
    if (name.is_string()) run.inputs_modified.push_back(name.get<std::string>());
  }
  for (const Json& item : *findings) {
    KUAFU_TRY(verdict::Finding finding, FindingFromJson(item, file));
    run.findings.push_back(std::move(finding));
  }
  KUAFU_TRY(run.library_call, JsonString(reply, "library_call"));
  KUAFU_TRY_STATUS(ReadOrigins(reply, run));
  KUAFU_TRY_STATUS(ReadSampling(reply, run));
  if (run.same || run.status != TrialRun::Status::kOk) return run;
  if (outputs == nullptr || !outputs->is_array() || outputs->size() > kOutputsMax)
    return Error{Code::kCorrupt, "an answer without outputs"};
  std::shared_ptr<os::Mapping> memory;
  if (!frame.fds.empty()) {
    KUAFU_TRY_STATUS(os::CheckSealed(frame.fds[0].get(), 0));
    KUAFU_TRY(const int64_t bytes, os::FdSize(frame.fds[0].get()));
    if (bytes > kOutputBytesMax)
      return Error{Code::kCorrupt, "more output than the device can hold"};
    KUAFU_TRY(os::Mapping mapping, os::MapFd(frame.fds[0].get(), bytes, os::Access::kReadOnly));
    memory = std::make_shared<os::Mapping>(std::move(mapping));
  }
  for (const Json& item : *outputs) {
    KUAFU_TRY(TrialRun::Output output, OutputFromJson(item, memory));
    run.outputs.push_back(std::move(output));
  }
  return run;
}

Result<RunResult> RunTrials(const RunPlan& plan, const Compiled& compiled,
                            const std::vector<Binding>& bindings, const frontend::TrialSet& set) {
  const int64_t begin = os::SystemClock().NowNs();
  KUAFU_TRY(os::ChannelPair pair, os::CreateChannelPair());
  KUAFU_TRY(os::Process process, os::Spawn({plan.runner, "--trials"},
                                           {.environment = std::vector<std::string>{},
                                            .working_directory = "/",
                                            .inherited_fds = {{pair.theirs.get(), 3}},
                                            .stderr_stream = os::Stream::kCapture,
                                            .capture_bytes_max = 16 << 10,
                                            .limits = {.cpu_seconds = plan.timeout_ms / 1000 + 2,
                                                       .file_bytes = kOutputBytesMax}}));
  pair.theirs.Reset();
  os::FairDeadline deadline(process.pid(), plan.timeout_ms);
  const int fds[] = {compiled.module->get(), compiled.shared_object->get(), set.inputs.get()};
  RunResult result;
  // A runner that is gone before it has read its request is told from its exit status below.
  const Status sent = pair.ours.Send(DumpJson(RequestJson(plan, bindings, set)), fds,
                                     os::Deadline::AfterMs(kSendMs));
  const size_t answers_max = set.trials.size() * plan.order_seeds.size();
  bool done = false;
  while (sent.ok() && !done && result.runs.size() <= answers_max) {
    const Status in_time = deadline.Check();
    if (!in_time.ok()) {
      if (in_time.error().code != Code::kDeadline) return in_time.error();
      result.end = RunResult::End::kTimeout;
      break;
    }
    Result<os::WaitEvent> event = process.WaitReadable(pair.ours.fd(), deadline.Next());
    const bool exited = event.ok() && event.value() == os::WaitEvent::kExited;
    Result<os::Frame> frame =
        event.ok()
            ? pair.ours.Receive(kReplyBytesMax, exited ? os::Deadline::AfterMs(0) : deadline.Next())
            : Result<os::Frame>(std::move(event).error());
    if (!frame.ok()) {
      const Code code = frame.error().code;
      if (code == Code::kDeadline && !exited) continue;
      // It has closed its end, or a process that it started has it still.
      if (code == Code::kUnavailable || code == Code::kDeadline) break;
      result.end = RunResult::End::kGarbage;
      result.end_text = frame.error().message;
      break;
    }
    Result<Json> reply = ParseJson(frame.value().bytes, kReplyBytesMax);
    if (reply.ok() && JsonFind(reply.value(), "infra") != nullptr) {
      KUAFU_TRY(const std::string text, JsonString(reply.value(), "infra"));
      return Error{Code::kUnavailable, text};
    }
    if (reply.ok() && JsonFind(reply.value(), "done") != nullptr) {
      done = true;
      break;
    }
    Result<TrialRun> run = reply.ok()
                               ? ParseTrialRun(reply.value(), frame.value(), set.trials.size(),
                                               plan.order_seeds.size(), plan.file)
                               : Result<TrialRun>(std::move(reply).error());
    if (!run.ok()) {
      result.end = RunResult::End::kGarbage;
      result.end_text = run.error().message;
      break;
    }
    result.runs.push_back(std::move(run).value());
  }
  // A process that closed its channel gets a moment to end by itself, so that its status is its
  // own. What one does after its last word (static destructors, exit handlers) is not judged.
  if (done || result.end != RunResult::End::kDone) process.Kill();
  Result<os::ExitStatus> status = process.Wait(os::Deadline::AfterMs(kDyingMs));
  result.ms = static_cast<double>(os::SystemClock().NowNs() - begin) / os::kNsPerMs;
  if (!done && result.end == RunResult::End::kDone) result.end = RunResult::End::kDied;
  if (result.end == RunResult::End::kDied) {
    result.end_text = status.ok() ? status.value().ToString() : "it closed its channel to us";
    result.killed = status.ok() && status.value().signal == SIGKILL;
    if (status.ok() && status.value().exit_code == 127)
      return Error{Code::kUnavailable,
                   "starting " + plan.runner + ": " + process.captured_stderr()};
  }
  return result;
}

}  // namespace kuafu::verify
