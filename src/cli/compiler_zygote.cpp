// SPDX-License-Identifier: Apache-2.0
// Both sides of a zygote: the handle that the server holds, and the process. They speak frames of
// JSON; the memory files for the report and the bytes travel with each request.
#include "cli/compiler_zygote.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/json.h"
#include "os/memfd.h"

namespace kuafu::cli {
namespace {

constexpr int64_t kMessageBytesMax = 32 * kMiB;  // a source of 4 MiB in JSON escapes
constexpr int64_t kAddressSpaceMax = 2 * kGiB;
constexpr int64_t kOutputBytesMax = 64 * kMiB;
constexpr int64_t kSendMsMax = 60'000;
constexpr int64_t kStartMsMax = 60'000;  // parsing the headers on a busy machine
constexpr int kBroken = 120;             // exit code: this installation is at fault

Status WriteAll(int fd, std::string_view bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n =
        pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return os::ErrnoError("writing the compiler's result", errno);
    done += static_cast<size_t>(n);
  }
  return OkStatus();
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

Status WriteReport(int fd, const klang::HalfResult& result) {
  Json report;
  report["ok"] = result.ok;
  report["entry"] = result.entry;
  report["ms"] = result.ms;
  report["diagnostics"] = Json::array();
  for (const klang::Diagnostic& d : result.diagnostics) report["diagnostics"].push_back(ToJson(d));
  return WriteAll(fd, DumpJson(report));
}

Result<klang::HalfResult> ReadReport(int fd) {
  KUAFU_TRY(const int64_t bytes, os::FdSize(fd));
  if (bytes == 0 || bytes > kOutputBytesMax)
    return Error{Code::kInternal, "the compiler process left no report"};
  KUAFU_TRY(const os::Mapping map, os::MapFd(fd, bytes, os::Access::kReadOnly));
  KUAFU_TRY(const Json report,
            ParseJson({reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()}));
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

// The process. One object, so that what the child needs is at hand where clang returns.
class ZygoteProcess {
 public:
  ZygoteProcess(Half half, klang::HeaderSet set, os::Channel channel)
      : half_(half), set_(std::move(set)), channel_(std::move(channel)) {}

  [[noreturn]] void Run() {
    set_.process_ends = true;
    const klang::NextRequest next = [this] { return NextRequest(); };
    const Result<klang::HalfResult> result =
        half_ == Half::kDevice ? klang::CompileDevice(set_, next) : klang::CompileHost(set_, next);
    const Status status = Report(result);
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().ToString().c_str());
    // No destructors and no exit handlers: freeing what clang has allocated takes longer than
    // compiling did.
    _exit(status.ok() ? 0 : kBroken);
  }

 private:
  // Returns in a child only.
  klang::CompileRequest NextRequest() {
    for (;;) {
      Result<os::Frame> frame = channel_.Receive(kMessageBytesMax, os::Deadline::Infinite());
      if (!frame.ok()) _exit(0);  // the server has ended
      Result<Json> json = ParseJson(frame.value().bytes);
      // A frame without files is a Cancel that came too late.
      if (!json.ok() || frame.value().fds.size() != 2) continue;
      klang::CompileRequest request;
      request.source = JsonString(json.value(), "source").value();
      request.file = JsonString(json.value(), "file").value();
      ChildLimits limits;
      limits.timeout_ms = JsonInt(json.value(), "timeout_ms").value();
      limits.address_space_bytes = kAddressSpaceMax;
      limits.file_bytes = kOutputBytesMax;
      limits.cancel_fd = channel_.fd();
      const Result<std::optional<ChildEnd>> end = ForkAndWait(limits);
      if (end.ok() && !end.value().has_value()) {
        channel_.Close();
        in_child_ = true;
        report_fd_ = std::move(frame.value().fds[0]);
        bytes_fd_ = std::move(frame.value().fds[1]);
        return request;
      }
      Reply(end);
    }
  }

  void Reply(const Result<std::optional<ChildEnd>>& end) {
    Json reply;
    if (end.ok()) {
      reply["timed_out"] = end.value()->timed_out;
      reply["exit_code"] = end.value()->exit_code;
      reply["signal"] = end.value()->signal;
      reply["stderr"] = end.value()->stderr_text;
    } else {
      reply["error"] = end.error().ToString();
    }
    if (!channel_.Send(DumpJson(reply), {}, os::Deadline::AfterMs(kSendMsMax)).ok()) _exit(0);
  }

  // Not in the child: the headers themselves did not compile, and no source has been asked for.
  Status Report(const Result<klang::HalfResult>& result) {
    if (!in_child_) {
      return Error{Code::kInternal, "the dialect headers do not compile: " +
                                        (!result.ok() ? result.error().ToString()
                                         : result.value().diagnostics.empty()
                                             ? std::string("no message")
                                             : result.value().diagnostics[0].ToString())};
    }
    klang::HalfResult refused;
    if (!result.ok()) {
      // A request that cannot be used is the candidate's fault; everything else is ours.
      if (result.error().code != Code::kInvalidInput) return result.error();
      klang::Diagnostic d;
      d.message = result.error().message;
      refused.diagnostics.push_back(std::move(d));
      return WriteReport(report_fd_.get(), refused);
    }
    const std::vector<uint8_t>& bytes = result.value().bytes;
    KUAFU_TRY_STATUS(
        WriteAll(bytes_fd_.get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    return WriteReport(report_fd_.get(), result.value());
  }

  Half half_;
  klang::HeaderSet set_;
  os::Channel channel_;
  bool in_child_ = false;
  os::UniqueFd report_fd_, bytes_fd_;
};

}  // namespace

Zygote::Zygote(Half half, klang::HeaderSet set, os::Channel channel, pid_t pid)
    : half_(half), set_(std::move(set)), channel_(std::move(channel)), pid_(pid) {}

Zygote::Zygote(Zygote&& other) noexcept
    : half_(other.half_),
      set_(std::move(other.set_)),
      channel_(std::move(other.channel_)),
      pid_(std::exchange(other.pid_, -1)),
      report_(std::move(other.report_)),
      bytes_(std::move(other.bytes_)),
      timeout_ms_(other.timeout_ms_) {}

Zygote::~Zygote() {
  if (pid_ > 0) EndHelper(pid_);
}

Result<Zygote> Zygote::Start(Half half, const klang::HeaderSet& set) {
  KUAFU_TRY(os::ChannelPair pair, os::CreateChannelPair());
  KUAFU_TRY(const Helper helper, ForkHelper());
  if (helper.pid == 0) {
    pair.ours.Close();
    ZygoteProcess(half, set, os::Channel(std::move(pair.theirs))).Run();
  }
  return Zygote(half, set, std::move(pair.ours), helper.pid);
}

Status Zygote::Begin(const ZygoteJob& job) {
  KUAFU_TRY(report_, os::CreateMemfd("kuafu-report", 0));
  KUAFU_TRY(bytes_, os::CreateMemfd(half_ == Half::kDevice ? "kuafu-module" : "kuafu-object", 0));
  timeout_ms_ = job.timeout_ms;
  Json json;
  json["source"] = job.request->source;
  json["file"] = job.request->file;
  json["timeout_ms"] = job.timeout_ms;
  const int fds[] = {report_.get(), bytes_.get()};
  return channel_.Send(DumpJson(json), fds, os::Deadline::AfterMs(kSendMsMax));
}

Status Zygote::Cancel() { return channel_.Send("{}", {}, os::Deadline::AfterMs(kSendMsMax)); }

Result<ZygoteAnswer> Zygote::Finish() {
  Result<os::Frame> frame =
      channel_.Receive(kMessageBytesMax, os::Deadline::AfterMs(kStartMsMax + timeout_ms_));
  if (!frame.ok()) {
    return Error{Code::kInternal, "the compiler's " +
                                      std::string(half_ == Half::kDevice ? "device" : "host") +
                                      " process has ended: " + frame.error().message};
  }
  KUAFU_TRY(const Json json, ParseJson(frame.value().bytes));
  if (JsonFind(json, "error") != nullptr) {
    KUAFU_TRY(std::string error, JsonString(json, "error"));
    return Error{Code::kInternal, std::move(error)};
  }
  ZygoteAnswer answer;
  KUAFU_TRY(answer.end.timed_out, JsonBool(json, "timed_out"));
  KUAFU_TRY(const int64_t exit_code, JsonInt(json, "exit_code"));
  KUAFU_TRY(const int64_t signal, JsonInt(json, "signal"));
  KUAFU_TRY(answer.end.stderr_text, JsonString(json, "stderr"));
  answer.end.exit_code = static_cast<int>(exit_code);
  answer.end.signal = static_cast<int>(signal);
  if (exit_code == kBroken) return Error{Code::kInternal, "compiling: " + answer.end.ToString()};
  if (exit_code == 0) {
    KUAFU_TRY(answer.result, ReadReport(report_.get()));
    answer.bytes = std::move(bytes_);
  }
  return answer;
}

}  // namespace kuafu::cli
