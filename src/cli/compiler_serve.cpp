// SPDX-License-Identifier: Apache-2.0
// The compile server. Each source is compiled in a forked child with limits, so that one which
// crashes or stalls clang costs an answer and nothing else. Results come back in memory files.
//
//   {"id":1,"source":"...","file":"x.cu","dialect":"cuda","arch":900,"timeout_ms":20000}
//   {"id":1,"ok":true,"entry":"f",...} with two descriptors, the module and the shared object
//   {"id":1,"ok":false,"diagnostics":[...]}, {"id":1,"ok":false,"crash":"signal 11 ..."},
//   {"id":1,"ok":false,"timeout":true}, {"id":1,"infra":"..."}: this installation is broken
#include "cli/compiler_serve.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/compiler_child.h"
#include "cli/compiler_link.h"
#include "klang/klang.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/memfd.h"

namespace kuafu::cli {
namespace {

constexpr int kChannelFd = 3;
constexpr int64_t kRequestBytesMax = 32 * kMiB;  // a source of 4 MiB in JSON escapes
constexpr int64_t kAddressSpaceMax = 2 * kGiB;
constexpr int64_t kOutputBytesMax = 64 * kMiB;
constexpr int64_t kTimeoutMsMax = 600'000;
constexpr int64_t kSendMsMax = 60'000;

struct Outputs {
  os::UniqueFd report, module, object;
};

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

std::string_view AsText(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const char* SeverityName(klang::Severity severity) {
  switch (severity) {
    case klang::Severity::kNote: return "note";
    case klang::Severity::kWarning: return "warning";
    case klang::Severity::kError: return "error";
  }
  return "error";
}

Json DiagnosticsJson(const std::vector<klang::Diagnostic>& diagnostics) {
  Json list = Json::array();
  for (const klang::Diagnostic& d : diagnostics) {
    list.push_back({{"severity", SeverityName(d.severity)},
                    {"line", d.line},
                    {"column", d.column},
                    {"message", d.message},
                    {"text", d.ToString()}});
  }
  return list;
}

// In the child. What it finds goes into the memory files.
Status CompileInto(const klang::CompileRequest& request, const Outputs& out) {
  Json report;
  Result<klang::CompileResult> result = klang::Compile(request);
  if (!result.ok()) {
    // A request that cannot be used is the candidate's fault; everything else is ours.
    if (result.error().code != Code::kInvalidInput) return std::move(result).error();
    klang::Diagnostic d;
    d.message = result.error().message;
    report["ok"] = false;
    report["diagnostics"] = DiagnosticsJson({d});
  } else {
    const klang::CompileResult& r = result.value();
    report["ok"] = r.ok;
    report["entry"] = r.entry;
    report["device_ms"] = r.device_ms;
    report["host_ms"] = r.host_ms;
    report["diagnostics"] = DiagnosticsJson(r.diagnostics);
    if (r.ok) {
      KUAFU_TRY_STATUS(WriteAll(out.module.get(), AsText(r.device_module)));
      KUAFU_TRY_STATUS(WriteAll(out.object.get(), AsText(r.host_object)));
    }
  }
  return WriteAll(out.report.get(), DumpJson(report));
}

Result<klang::Dialect> ReadDialect(const Json& json) {
  const Result<std::string> name = JsonString(json, "dialect");
  if (!name.ok()) return name.error();
  const std::string_view text = name.value();
  if (text == "cuda") return klang::Dialect::kCuda;
  if (text == "musa") return klang::Dialect::kMusa;
  return Error{Code::kInvalidInput, "dialect '" + name.value() + "': must be cuda or musa"};
}

Result<klang::CompileRequest> ReadRequest(const Json& json) {
  klang::CompileRequest request;
  KUAFU_TRY(request.source, JsonString(json, "source"));
  KUAFU_TRY(request.file, JsonString(json, "file"));
  KUAFU_TRY(request.dialect, ReadDialect(json));
  KUAFU_TRY(const int64_t arch, JsonInt(json, "arch"));
  if (arch < 100 || arch > 9999) {
    return Error{Code::kInvalidInput, "arch " + std::to_string(arch) + ": must be 100 to 9999"};
  }
  request.arch = static_cast<uint32_t>(arch);
  return request;
}

Result<Json> ReadReport(int fd) {
  KUAFU_TRY(const int64_t bytes, os::FdSize(fd));
  if (bytes == 0 || bytes > kOutputBytesMax)
    return Error{Code::kInternal, "the compiler process left no report"};
  KUAFU_TRY(const os::Mapping map, os::MapFd(fd, bytes, os::Access::kReadOnly));
  return ParseJson({reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()});
}

// The answer to one request, without the id, and the descriptors that go with it.
Result<Json> Answer(const Json& json, std::vector<os::UniqueFd>* fds) {
  KUAFU_TRY(const klang::CompileRequest request, ReadRequest(json));
  KUAFU_TRY(const int64_t timeout_ms, JsonInt(json, "timeout_ms"));
  Outputs out;
  KUAFU_TRY(out.report, os::CreateMemfd("kuafu-report", 0));
  KUAFU_TRY(out.module, os::CreateMemfd("kuafu-module", 0));
  KUAFU_TRY(out.object, os::CreateMemfd("kuafu-object", 0));
  ChildLimits limits;
  limits.timeout_ms = std::clamp<int64_t>(timeout_ms, 1, kTimeoutMsMax);
  limits.address_space_bytes = kAddressSpaceMax;
  limits.file_bytes = kOutputBytesMax;
  KUAFU_TRY(const ChildEnd end, RunChild(limits, [&] {
              close(kChannelFd);
              const Status status = CompileInto(request, out);
              if (status.ok()) return 0;
              std::fprintf(stderr, "%s\n", status.error().ToString().c_str());
              return kChildBroken;
            }));
  if (end.timed_out) return Json{{"ok", false}, {"timeout", true}};
  if (end.exit_code == kChildBroken) return Error{Code::kInternal, "compiling: " + end.ToString()};
  if (end.exit_code != 0) return Json{{"ok", false}, {"crash", end.ToString()}};
  KUAFU_TRY(Json report, ReadReport(out.report.get()));
  KUAFU_TRY(const bool ok, JsonBool(report, "ok"));
  if (!ok) return report;
  const int64_t start = os::SystemClock().NowNs();
  KUAFU_TRY(os::UniqueFd library, LinkSharedObject(out.object.get()));
  report["link_ms"] = static_cast<double>(os::SystemClock().NowNs() - start) * 1e-6;
  KUAFU_TRY_STATUS(os::SealAll(out.module.get()));
  KUAFU_TRY_STATUS(os::SealAll(library.get()));
  fds->push_back(std::move(out.module));
  fds->push_back(std::move(library));
  return report;
}

Status ServeOne(os::Channel& channel) {
  KUAFU_TRY(const os::Frame frame, channel.Receive(kRequestBytesMax, os::Deadline::Infinite()));
  KUAFU_TRY(const Json request, ParseJson(frame.bytes));
  KUAFU_TRY(const int64_t id, JsonInt(request, "id"));
  Json reply;
  reply["id"] = id;
  std::vector<os::UniqueFd> fds;
  Result<Json> answer = Answer(request, &fds);
  if (answer.ok()) {
    reply.update(answer.value());
  } else {
    reply["infra"] = answer.error().ToString();
  }
  std::vector<int> raw;
  for (const os::UniqueFd& fd : fds) raw.push_back(fd.get());
  return channel.Send(DumpJson(reply), raw, os::Deadline::AfterMs(kSendMsMax));
}

// Loads what the first compilation would load, so that no child has to.
void WarmUp() {
  klang::CompileRequest request;
  request.source = "__global__ void kuafu_warm_up(float* x) { x[threadIdx.x] += 1.0f; }\n";
  const Result<klang::CompileResult> ignored = klang::Compile(request);
  static_cast<void>(ignored);
}

}  // namespace

int ServeCompiler() {
  os::Channel channel{os::UniqueFd(kChannelFd)};
  WarmUp();
  for (;;) {
    const Status status = ServeOne(channel);
    if (status.ok()) continue;
    if (status.error().code == Code::kUnavailable) return 0;
    std::fprintf(stderr, "kuafu-compiler: serving: %s\n", status.error().ToString().c_str());
    return 4;
  }
}

}  // namespace kuafu::cli
