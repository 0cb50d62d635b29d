// SPDX-License-Identifier: Apache-2.0
// Both sides: the handle that the server holds, and the process. They speak frames of JSON; what
// was compiled comes back as a memory file with the answer.
#include "cli/compiler_worker.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/json.h"
#include "cli/compiler_headers.h"
#include "os/sandbox.h"

namespace kuafu::cli {
namespace {

constexpr int64_t kMessageBytesMax = 32 * kMiB;  // a source of 4 MiB in JSON escapes
constexpr int64_t kAddressSpaceMax = 2 * kGiB;
constexpr int64_t kOutputBytesMax = 64 * kMiB;
constexpr int64_t kResidentBytesMax = 768 * kMiB;  // a process that has grown beyond makes way
constexpr int64_t kStderrBytesMax = 4096;
constexpr int64_t kSendMsMax = 60'000;
constexpr int64_t kHeadersMsMax = 120'000;  // parsing them on a busy machine
constexpr int64_t kWallPerCpu = 6;          // a machine as loaded as this still gets its answer
constexpr int kChannelFd = 3;
constexpr int kBroken = 120;  // exit code: this installation is at fault

Status WriteAll(int fd, std::span<const uint8_t> bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n =
        pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return os::ErrnoError("writing the compiler's result", errno);
    done += static_cast<size_t>(n);
  }
  return OkStatus();
}

Result<os::UniqueFd> MemfdWith(const char* name, std::span<const uint8_t> bytes) {
  KUAFU_TRY(os::UniqueFd fd, os::CreateMemfd(name, 0));
  KUAFU_TRY_STATUS(WriteAll(fd.get(), bytes));
  return fd;
}

Json ToJson(const klang::Diagnostic& d) {
  return {{"severity", static_cast<int>(d.severity)},
          {"file", d.file},
          {"line", d.line},
          {"column", d.column},
          {"message", d.message},
          {"snippet", d.snippet}};
}

Result<klang::Diagnostic> DiagnosticOf(const Json& json) {
  klang::Diagnostic d;
  KUAFU_TRY(const int64_t severity, JsonInt(json, "severity"));
  d.severity = static_cast<klang::Severity>(severity);
  KUAFU_TRY(d.file, JsonString(json, "file"));
  KUAFU_TRY(const int64_t line, JsonInt(json, "line"));
  KUAFU_TRY(const int64_t column, JsonInt(json, "column"));
  d.line = static_cast<uint32_t>(line);
  d.column = static_cast<uint32_t>(column);
  KUAFU_TRY(d.message, JsonString(json, "message"));
  KUAFU_TRY(d.snippet, JsonString(json, "snippet"));
  return d;
}

Json ToJson(const klang::HalfResult& result) {
  Json report;
  report["ok"] = result.ok;
  report["entry"] = result.entry;
  report["ms"] = result.ms;
  report["diagnostics"] = Json::array();
  for (const klang::Diagnostic& d : result.diagnostics) report["diagnostics"].push_back(ToJson(d));
  return report;
}

Result<klang::HalfResult> ResultOf(const Json& report) {
  klang::HalfResult result;
  KUAFU_TRY(result.ok, JsonBool(report, "ok"));
  KUAFU_TRY(result.entry, JsonString(report, "entry"));
  KUAFU_TRY(result.ms, JsonNumber(report, "ms"));
  if (const Json* list = JsonFind(report, "diagnostics")) {
    for (const Json& json : *list) {
      KUAFU_TRY(klang::Diagnostic d, DiagnosticOf(json));
      result.diagnostics.push_back(std::move(d));
    }
  }
  return result;
}

// SIGPROF, which nobody handles, when this process has computed that long; 0 = never.
void SetCpuTimer(int64_t ms) {
  itimerval timer = {};
  timer.it_value.tv_sec = ms / 1000;
  timer.it_value.tv_usec = (ms % 1000) * 1000;
  setitimer(ITIMER_PROF, &timer, nullptr);
}

int64_t ResidentBytesPeak() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * kKiB;
}

// In the process.
class WorkerProcess {
 public:
  WorkerProcess(klang::Half half, const klang::HeaderSet& set, std::span<const uint8_t> headers)
      : half_(half), set_(set), headers_(headers), channel_(os::UniqueFd(kChannelFd)) {}

  Status Run() {
    if (headers_.empty()) KUAFU_TRY_STATUS(ParseHeaders());
    for (;;) {
      const Result<os::Frame> frame = channel_.Receive(kMessageBytesMax, os::Deadline::Infinite());
      if (!frame.ok()) return OkStatus();  // the server has ended
      KUAFU_TRY_STATUS(ServeOne(frame.value()));
    }
  }

 private:
  Status ParseHeaders() {
    KUAFU_TRY(parsed_, HeadersFromCache(half_, set_));
    headers_ = parsed_;
    KUAFU_TRY(const os::UniqueFd fd, MemfdWith("kuafu-headers", headers_));
    const int fds[] = {fd.get()};
    return channel_.Send("{}", fds, os::Deadline::AfterMs(kSendMsMax));
  }

  Status ServeOne(const os::Frame& frame) {
    KUAFU_TRY(const Json json, ParseJson(frame.bytes));
    KUAFU_TRY(const int64_t timeout_ms, JsonInt(json, "timeout_ms"));
    SetCpuTimer(timeout_ms);
    os::UniqueFd bytes;
    const bool link = JsonFind(json, "link") != nullptr;
    Result<klang::HalfResult> done = link ? Link(json, frame.fds) : Compile(json);
    KUAFU_TRY(const klang::HalfResult result, Keep(std::move(done), &bytes));
    SetCpuTimer(0);
    Json reply = ToJson(result);
    reply["retire"] = ResidentBytesPeak() > kResidentBytesMax;
    const int fds[] = {bytes.get()};
    return channel_.Send(DumpJson(reply), std::span(fds, bytes.valid() ? 1 : 0),
                         os::Deadline::AfterMs(kSendMsMax));
  }

  Result<klang::HalfResult> Compile(const Json& json) {
    klang::CompileRequest request;
    request.dialect = set_.dialect;
    request.arch = set_.arch;
    request.include_dir = set_.include_dir;
    KUAFU_TRY(request.source, JsonString(json, "source"));
    KUAFU_TRY(request.file, JsonString(json, "file"));
    if (const Json* unit = JsonFind(json, "unit")) {
      klang::UnitPlace place;
      KUAFU_TRY(place.index, JsonInt(*unit, "index"));
      KUAFU_TRY(place.count, JsonInt(*unit, "count"));
      KUAFU_TRY(place.device, JsonBool(*unit, "device"));
      request.unit = place;
      KUAFU_TRY(request.defines, StringsOf(*unit, "defines"));
    }
    return klang::CompileHalf(half_, request, headers_);
  }

  Result<klang::HalfResult> Link(const Json& json, std::span<const os::UniqueFd> fds) {
    KUAFU_TRY(const std::vector<std::string> files, StringsOf(json, "link"));
    if (files.size() != fds.size())
      return Error{Code::kInternal, "linking: the objects of some units did not arrive"};
    std::vector<os::Mapping> maps;
    std::vector<klang::UnitObject> units;
    for (size_t i = 0; i < fds.size(); ++i) {
      KUAFU_TRY(const int64_t bytes, os::FdSize(fds[i].get()));
      KUAFU_TRY(os::Mapping map, os::MapFd(fds[i].get(), bytes, os::Access::kReadOnly));
      maps.push_back(std::move(map));
      units.push_back({files[i], std::as_const(maps.back()).bytes()});
    }
    return klang::LinkUnits(units, set_.include_dir);
  }

  Result<klang::HalfResult> Keep(Result<klang::HalfResult> result, os::UniqueFd* bytes) {
    if (result.ok() && result.value().ok) {
      KUAFU_TRY(*bytes, MemfdWith("kuafu-compiled", result.value().bytes));
    }
    // What cannot be used is the candidate's fault; everything else is ours.
    if (result.ok() || result.error().code != Code::kInvalidInput) return result;
    klang::HalfResult refused;
    klang::Diagnostic d;
    d.message = result.error().message;
    refused.diagnostics.push_back(std::move(d));
    return refused;
  }

  klang::Half half_;
  const klang::HeaderSet& set_;
  std::span<const uint8_t> headers_;
  std::vector<uint8_t> parsed_;
  os::Channel channel_;
};

[[noreturn]] void RunProcess(pid_t server, int channel_fd, int stderr_fd, klang::Half half,
                             const klang::HeaderSet& set, std::span<const uint8_t> headers) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != server) _exit(kBroken);
  const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  os::Limits limits;
  limits.address_space_bytes = kAddressSpaceMax;
  limits.file_bytes = kOutputBytesMax;
  if (dup2(null_fd, 0) < 0 || dup2(stderr_fd, 1) < 0 || dup2(stderr_fd, 2) < 0 ||
      dup2(channel_fd, kChannelFd) < 0 || !os::ApplyLimits(limits).ok())
    _exit(kBroken);
  close_range(kChannelFd + 1, ~0u, 0);  // the server's ends of all channels
  const Status status = WorkerProcess(half, set, headers).Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().ToString().c_str());
  std::fflush(nullptr);
  _exit(status.ok() ? 0 : kBroken);
}

// "signal 11 (Segmentation fault)", "exit code 1", with the first line it printed.
std::string Describe(int status, int stderr_fd) {
  std::string text = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) + " (" +
                                               strsignal(WTERMSIG(status)) + ")"
                                         : "exit code " + std::to_string(WEXITSTATUS(status));
  std::string printed(kStderrBytesMax, '\0');
  const ssize_t n = pread(stderr_fd, printed.data(), printed.size(), 0);
  printed.resize(n > 0 ? static_cast<size_t>(n) : 0);
  const std::string line = printed.substr(0, printed.find('\n')).substr(0, 300);
  return line.empty() ? text : text + ": " + line;
}

}  // namespace

Result<std::vector<std::string>> StringsOf(const Json& object, const char* key) {
  const Json* list = JsonFind(object, key);
  if (list == nullptr || !list->is_array())
    return Error{Code::kInvalidInput, std::string("member '") + key + "': must be a list"};
  std::vector<std::string> strings;
  for (const Json& entry : *list) {
    if (!entry.is_string())
      return Error{Code::kInvalidInput, std::string("member '") + key + "': must hold strings"};
    strings.push_back(entry.get<std::string>());
  }
  return strings;
}

Status CompileWorker::Start() {
  KUAFU_TRY(os::ChannelPair pair, os::CreateChannelPair());
  KUAFU_TRY(stderr_, os::CreateMemfd("kuafu-stderr", 0));
  const pid_t server = getpid();
  const pid_t pid = fork();
  if (pid < 0) return os::ErrnoError("starting a compiler process", errno);
  if (pid == 0) {
    RunProcess(server, pair.theirs.get(), stderr_.get(), half_, set_,
               std::as_const(headers_).bytes());
  }
  pid_ = pid;
  channel_ = std::move(pair.ours);
  served_ = 0;
  return OkStatus();
}

int CompileWorker::End() {
  if (pid_ <= 0) return 0;
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

Status CompileWorker::Begin(const CompileJob& job) {
  Json json;
  json["source"] = job.request->source;
  json["file"] = job.request->file;
  json["timeout_ms"] = job.timeout_ms;
  if (const std::optional<klang::UnitPlace>& unit = job.request->unit) {
    json["unit"] = {{"index", unit->index},
                    {"count", unit->count},
                    {"device", unit->device},
                    {"defines", job.request->defines}};
  }
  job_ = DumpJson(json);
  job_fds_.clear();
  timeout_ms_ = job.timeout_ms;
  return SendJob();
}

Status CompileWorker::BeginLink(const LinkJob& job) {
  job_ = DumpJson({{"link", job.files}, {"timeout_ms", job.timeout_ms}});
  job_fds_ = job.objects;
  timeout_ms_ = job.timeout_ms;
  return SendJob();
}

Status CompileWorker::SendJob() {
  if (pid_ <= 0) KUAFU_TRY_STATUS(Start());
  return channel_.Send(job_, job_fds_, os::Deadline::AfterMs(kSendMsMax));
}

Status CompileWorker::TakeHeaders(const os::Deadline& deadline) {
  KUAFU_TRY(const os::Frame frame, channel_.Receive(kMessageBytesMax, deadline));
  if (frame.fds.size() != 1)
    return Error{Code::kInternal, "a compiler process began without its headers"};
  KUAFU_TRY(const int64_t bytes, os::FdSize(frame.fds[0].get()));
  KUAFU_TRY(headers_, os::MapFd(frame.fds[0].get(), bytes, os::Access::kReadOnly));
  return OkStatus();
}

Result<CompileAnswer> CompileWorker::Finish() {
  Result<CompileAnswer> answer = FinishOnce();
  // A second try in a new process, so that the verdict on a source never depends on those before,
  // nor on one that ends processes: an operator, or the system for lack of memory.
  if (answer.ok() && !answer.value().crash.empty() && (served_ > 0 || killed_)) {
    KUAFU_TRY_STATUS(SendJob());
    answer = FinishOnce();
  }
  return answer;
}

Result<CompileAnswer> CompileWorker::FinishOnce() {
  CompileAnswer answer;
  Result<os::Frame> frame = os::Frame();
  const os::Deadline deadline = os::Deadline::AfterMs(kHeadersMsMax + kWallPerCpu * timeout_ms_);
  if (headers_.size_bytes() == 0) {
    const Status taken = TakeHeaders(deadline);
    if (!taken.ok()) frame = taken.error();
  }
  if (frame.ok()) frame = channel_.Receive(kMessageBytesMax, deadline);
  if (!frame.ok()) {
    const bool late = frame.error().code == Code::kDeadline;
    // A process that has closed its end may need a moment to be gone; killing it then would hide
    // what it died of.
    if (!late) {
      siginfo_t info = {};
      while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0 &&
             errno == EINTR) {
      }
    }
    const int status = End();
    killed_ = !late && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    answer.timed_out = late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF);
    if (answer.timed_out) return answer;
    answer.crash = Describe(status, stderr_.get());
    if (WIFEXITED(status) && WEXITSTATUS(status) == kBroken)
      return Error{Code::kInternal, "compiling: " + answer.crash};
    return answer;
  }
  ++served_;
  KUAFU_TRY(const Json json, ParseJson(frame.value().bytes));
  KUAFU_TRY(const bool retire, JsonBool(json, "retire"));
  KUAFU_TRY(answer.result, ResultOf(json));
  if (!frame.value().fds.empty()) answer.bytes = std::move(frame.value().fds[0]);
  if (answer.result.ok != answer.bytes.valid())
    return Error{Code::kInternal, "a compiler process left no result"};
  if (retire) End();
  return answer;
}

}  // namespace kuafu::cli
