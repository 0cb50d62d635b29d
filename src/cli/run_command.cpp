// SPDX-License-Identifier: Apache-2.0
// `kuafu run`: compile a whole program, run it on a simulated GPU, print the
// findings.
#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "device/profile.h"
#include "os/fair_deadline.h"
#include "os/file.h"
#include "os/memfd.h"
#include "os/process.h"

namespace kuafu::cli {
namespace {

constexpr int64_t kCompileMsMax = 120'000;
constexpr int64_t kCompileCpuSecondsMax = 100;
constexpr int64_t kResultBytesMax = 16 << 20;

struct Outcome {
  std::string cls = "pass";  // failure class as in a verdict
  std::string message;
  int exit_code = 0;
  std::string output;  // standard output of the program, with --json
  Json findings = Json::array();
  Json counters = Json::object();
};

// An outcome other than pass means the program does not compile.
Result<Outcome> Compile(const RunOptions& options, const device::Target& target,
                        const os::TempDir& dir) {
  KUAFU_TRY(const std::string compiler, SiblingProgram("kuafu-compiler"));
  const bool musa = EndsWith(options.file, ".mu");
  const uint32_t arch = musa == target.profile->musa ? target.profile->arch : (musa ? 310u : 900u);
  KUAFU_TRY(os::Process process,
            os::Spawn({compiler, options.file, musa ? "musa" : "cuda", std::to_string(arch),
                       dir.File("module"), dir.File("host.so")},
                      {.stdout_stream = os::Stream::kCapture,
                       .stderr_stream = os::Stream::kCapture,
                       .capture_bytes_max = kResultBytesMax,
                       .limits = {.cpu_seconds = kCompileCpuSecondsMax}}));
  Result<os::ExitStatus> status = process.Wait(os::Deadline::AfterMs(kCompileMsMax));
  if (!status.ok() && status.error().code == Code::kDeadline) {
    return Outcome{"compile_error", "the compiler ran longer than " +
                                        std::to_string(kCompileMsMax / 1000) + " s on this source"};
  }
  if (!status.ok()) return std::move(status).error();
  if (status.value().signal != 0) {
    return Outcome{"compile_error",
                   "the compiler crashed on this source (" + status.value().ToString() + ")"};
  }
  if (status.value().exit_code != 0)
    return Error{Code::kInvalidInput, std::string(Trim(process.captured_stderr()))};
  KUAFU_TRY(const Json answer, ParseJson(process.captured_stdout()));
  KUAFU_TRY(const bool ok, JsonBool(answer, "ok"));
  if (ok) return Outcome{};
  Outcome outcome{"compile_error", ""};
  const Json* diagnostics = JsonFind(answer, "diagnostics");
  if (diagnostics != nullptr) {
    for (const Json& d : *diagnostics) {
      KUAFU_TRY(const std::string text, JsonString(d, "text"));
      outcome.message += (outcome.message.empty() ? "" : "\n") + text;
    }
  }
  return outcome;
}

Result<Outcome> Execute(const RunOptions& options, const device::Target& target,
                        const os::TempDir& dir) {
  KUAFU_TRY(const std::string runner, SiblingProgram("kuafu-runner"));
  KUAFU_TRY(os::UniqueFd result_fd, os::CreateMemfd("kuafu-result", 0));
  const int width =
      options.warp_width != 0 ? options.warp_width : static_cast<int>(target.profile->warp_width);
  std::vector<std::string> argv = {runner,
                                   dir.File("module"),
                                   dir.File("host.so"),
                                   target.text,
                                   std::to_string(width),
                                   std::to_string(options.seed),
                                   options.sanitize ? "1" : "0"};
  argv.insert(argv.end(), options.arguments.begin(), options.arguments.end());
  KUAFU_TRY(
      os::Process process,
      os::Spawn(argv,
                {.inherited_fds = {{result_fd.get(), 3}},
                 .stdout_stream = options.json ? os::Stream::kCapture : os::Stream::kInherit,
                 .capture_bytes_max = kResultBytesMax,
                 .limits = {.cpu_seconds = options.timeout_s + 1, .file_bytes = kResultBytesMax}}));
  Outcome outcome;
  os::FairDeadline limit(process.pid(), int64_t{options.timeout_s} * 1000);
  Status in_time = limit.Check();
  while (in_time.ok()) {
    const auto event = process.WaitReadable(-1, limit.Next());
    if (event.ok()) break;
    if (event.error().code != Code::kDeadline) return event.error();
    in_time = limit.Check();
  }
  if (!in_time.ok()) {
    if (in_time.error().code != Code::kDeadline) return in_time.error();
    outcome.cls = "timeout";
    outcome.message =
        "the program ran longer than " + std::to_string(options.timeout_s) + " s; see --timeout-s";
    return outcome;
  }
  KUAFU_TRY(const os::ExitStatus status, process.Wait(os::Deadline::Infinite()));
  outcome.exit_code = status.exit_code;
  if (options.json) outcome.output = process.captured_stdout();
  KUAFU_TRY(const int64_t bytes, os::FdSize(result_fd.get()));
  if (bytes > 0 && bytes <= kResultBytesMax) {
    KUAFU_TRY(const os::Mapping mapping, os::MapFd(result_fd.get(), bytes, os::Access::kReadOnly));
    KUAFU_TRY(const Json answer, ParseJson({reinterpret_cast<const char*>(mapping.bytes().data()),
                                            static_cast<size_t>(bytes)}));
    if (const Json* findings = JsonFind(answer, "findings")) outcome.findings = *findings;
    if (const Json* counters = JsonFind(answer, "counters")) outcome.counters = *counters;
  }
  if (status.signal != 0 || bytes == 0) {
    outcome.cls = "runtime_error";
    outcome.message = "the program's host code ended by " + status.ToString();
  } else if (outcome.exit_code != 0) {
    outcome.cls = "runtime_error";
    outcome.message = "the program returned " + std::to_string(outcome.exit_code);
  }
  if (!outcome.findings.empty()) {
    KUAFU_TRY(outcome.cls, JsonString(outcome.findings.front(), "class"));
  }
  return outcome;
}

Result<Outcome> RunAll(const RunOptions& options) {
  if (!EndsWith(options.file, ".cu") && !EndsWith(options.file, ".mu")) {
    return Error{Code::kInvalidInput,
                 "running '" + options.file + "': the name must end in .cu (CUDA) or .mu (MUSA)"};
  }
  if (!os::FileExists(options.file))
    return Error{Code::kInvalidInput, "running '" + options.file + "': no such file"};
  KUAFU_TRY(const device::Target target, device::ParseTarget(options.target));
  KUAFU_TRY(const os::TempDir dir, os::TempDir::Create("kuafu-run"));
  // The runner becomes another user before it loads the program.
  KUAFU_TRY(Outcome compiled, Compile(options, target, dir));
  if (compiled.cls != "pass") return compiled;
  KUAFU_TRY_STATUS(os::MakeWorldReadable(dir.path()));
  return Execute(options, target, dir);
}

void Print(const RunOptions& options, const Outcome& outcome) {
  if (options.json) {
    Json json;
    json["version"] = 1;
    json["file"] = options.file;
    json["target"] = options.target;
    json["class"] = outcome.cls;
    json["message"] = outcome.message;
    json["exit_code"] = outcome.exit_code;
    json["findings"] = outcome.findings;
    json["output"] = outcome.output;
    json["counters"] = outcome.counters;
    std::puts(DumpJson(json, 2).c_str());
    return;
  }
  if (!outcome.message.empty()) std::printf("%s\n", outcome.message.c_str());
  for (const Json& f : outcome.findings) {
    Result<std::string> text = JsonString(f, "text");
    if (text.ok()) std::printf("%s\n", text.value().c_str());
  }
  std::printf("%s  %s on %s (simulated)%s\n", outcome.cls == "pass" ? "PASS" : "FAIL",
              os::BaseName(options.file).c_str(), options.target.c_str(),
              outcome.cls == "pass" ? "" : (": " + outcome.cls).c_str());
}

}  // namespace

ExitStatus StatusOf(const Error& error) {
  switch (error.code) {
    case Code::kInvalidInput:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kCorrupt: return kUsage;
    case Code::kUnsupported:
    case Code::kUnavailable:
    case Code::kExhausted:
    case Code::kDeadline: return kEnvironment;
    case Code::kCancelled: return kInterrupted;
    case Code::kInternal: return kInternal;
  }
  return kInternal;
}

ExitStatus Run(const RunOptions& options) {
  Result<Outcome> outcome = RunAll(options);
  if (!outcome.ok()) {
    std::fprintf(stderr, "kuafu: %s\n", outcome.error().ToString().c_str());
    return StatusOf(outcome.error());
  }
  Print(options, outcome.value());
  return outcome.value().cls == "pass" ? kOk : kNegative;
}

}  // namespace kuafu::cli
