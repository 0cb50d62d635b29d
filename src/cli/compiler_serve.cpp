// SPDX-License-Identifier: Apache-2.0
// The compile server. The two halves of a source are compiled side by side in processes with
// limits, so that a source which crashes or stalls clang costs an answer and nothing else. Results
// come back in memory files.
//
//   {"id":1,"source":"...","file":"x.cu","dialect":"cuda","arch":900,"timeout_ms":20000}
//   {"id":1,"ok":true,"entry":"f",...} with two descriptors, the module and the shared object
//   {"id":1,"ok":false,"diagnostics":[...]}, {"id":1,"ok":false,"crash":"signal 11 ..."},
//   {"id":1,"ok":false,"timeout":true}, {"id":1,"infra":"..."}: this installation is broken
//
// An extension has units instead of a source; the modules of those with "device" come back in their
// order, then the shared object:
//   {"id":1,"units":[{"file":"main.cpp","source":"...","device":false},...],
//    "defines":["NAME=VALUE"],"dialect":"cuda","arch":900,"timeout_ms":20000}
#include "cli/compiler_serve.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/compiler_extension.h"
#include "cli/compiler_worker.h"
#include "klang/klang.h"
#include "os/channel.h"
#include "os/memfd.h"

namespace kuafu::cli {
namespace {

constexpr int kChannelFd = 3;
constexpr int64_t kRequestBytesMax = 32 * kMiB;  // a source of 4 MiB in JSON escapes
constexpr int64_t kTimeoutMsMax = 600'000;
constexpr int64_t kSendMsMax = 60'000;
constexpr size_t kWorkersMax = 6;  // 100-200 MiB each

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

Result<klang::Dialect> ReadDialect(const Json& json) {
  const Result<std::string> name = JsonString(json, "dialect");
  if (!name.ok()) return name.error();
  const std::string_view text = name.value();
  if (text == "cuda") return klang::Dialect::kCuda;
  if (text == "musa") return klang::Dialect::kMusa;
  return Error{Code::kInvalidInput, "dialect '" + name.value() + "': must be cuda or musa"};
}

// Without what differs from unit to unit.
Result<klang::CompileRequest> ReadTarget(const Json& json) {
  klang::CompileRequest request;
  KUAFU_TRY(request.dialect, ReadDialect(json));
  KUAFU_TRY(const int64_t arch, JsonInt(json, "arch"));
  if (arch < 100 || arch > 9999) {
    return Error{Code::kInvalidInput, "arch " + std::to_string(arch) + ": must be 100 to 9999"};
  }
  request.arch = static_cast<uint32_t>(arch);
  return request;
}

Status ReadSource(const Json& json, klang::CompileRequest* request) {
  KUAFU_TRY(request->source, JsonString(json, "source"));
  KUAFU_TRY(request->file, JsonString(json, "file"));
  return OkStatus();
}

Result<std::vector<klang::CompileRequest>> ReadUnits(const Json& json,
                                                     const klang::CompileRequest& target) {
  const Json* list = JsonFind(json, "units");
  if (!list->is_array() || list->empty() || list->size() > kUnitsMax) {
    return Error{Code::kInvalidInput,
                 "an extension must have 1 to " + std::to_string(kUnitsMax) + " units"};
  }
  std::vector<klang::CompileRequest> units;
  for (const Json& entry : *list) {
    klang::CompileRequest unit = target;
    KUAFU_TRY_STATUS(ReadSource(entry, &unit));
    KUAFU_TRY(unit.defines, StringsOf(json, "defines"));
    klang::UnitPlace place{static_cast<int64_t>(units.size()), static_cast<int64_t>(list->size())};
    KUAFU_TRY(place.device, JsonBool(entry, "device"));
    unit.unit = place;
    units.push_back(std::move(unit));
  }
  return units;
}

// True: `report` says how compiling this half failed.
template <class A>
bool Failed(const A& answer, Json* report) {
  if (answer.timed_out) {
    *report = {{"ok", false}, {"timeout", true}};
  } else if (!answer.crash.empty()) {
    *report = {{"ok", false}, {"crash", answer.crash}};
  }
  return answer.timed_out || !answer.crash.empty();
}

class Server {
 public:
  explicit Server(os::Channel channel) : channel_(std::move(channel)) {}

  // What most candidates need; parsed while the peer prepares its first request.
  Status WarmUp() {
    for (const klang::Half half : {klang::Half::kDevice, klang::Half::kHost})
      KUAFU_TRY_STATUS(Find(half, {}).Start());
    return OkStatus();
  }

  Status ServeOne() {
    KUAFU_TRY(const os::Frame frame, channel_.Receive(kRequestBytesMax, os::Deadline::Infinite()));
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
      workers_.clear();  // whichever of them is broken
    }
    std::vector<int> raw;
    for (const os::UniqueFd& fd : fds) raw.push_back(fd.get());
    return channel_.Send(DumpJson(reply), raw, os::Deadline::AfterMs(kSendMsMax));
  }

 private:
  // The one with these headers. Valid until the next call but one.
  CompileWorker& Find(klang::Half half, const klang::HeaderSet& set) {
    const auto fits = [&](const auto& w) { return w->half() == half && w->set() == set; };
    const auto at = std::find_if(workers_.begin(), workers_.end(), fits);
    if (at != workers_.end()) {
      std::rotate(at, at + 1, workers_.end());
    } else {
      if (workers_.size() >= kWorkersMax) workers_.erase(workers_.begin());
      workers_.push_back(std::make_unique<CompileWorker>(half, set));
    }
    return *workers_.back();
  }

  CompileWorker& DeviceWorker(const klang::CompileRequest& request) {
    return Find(klang::Half::kDevice, klang::HeadersFor(request));
  }
  CompileWorker& HostWorker(const klang::CompileRequest& request) {
    klang::HeaderSet set = klang::HeadersFor(request);
    set.arch = klang::HeaderSet().arch;  // the host half does not depend on it
    return Find(klang::Half::kHost, set);
  }

  // The answer to one request, without the id, and the descriptors that go with it.
  Result<Json> Answer(const Json& json, std::vector<os::UniqueFd>* fds) {
    KUAFU_TRY(klang::CompileRequest request, ReadTarget(json));
    KUAFU_TRY(int64_t timeout_ms, JsonInt(json, "timeout_ms"));
    timeout_ms = std::clamp<int64_t>(timeout_ms, 1, kTimeoutMsMax);
    if (JsonFind(json, "units") != nullptr) {
      KUAFU_TRY(const std::vector<klang::CompileRequest> units, ReadUnits(json, request));
      return Extension(units, timeout_ms, fds);
    }
    KUAFU_TRY_STATUS(ReadSource(json, &request));
    const CompileJob job{&request, timeout_ms};
    CompileWorker& device = DeviceWorker(request);
    CompileWorker& host = HostWorker(request);
    KUAFU_TRY_STATUS(device.Begin(job));
    KUAFU_TRY_STATUS(host.Begin(job));
    KUAFU_TRY(CompileAnswer on_device, device.Finish());
    KUAFU_TRY(CompileAnswer on_host, host.Finish());
    Json report;
    if (Failed(on_device, &report)) return report;
    std::vector<klang::Diagnostic> diagnostics = std::move(on_device.result.diagnostics);
    if (on_device.result.ok) {
      if (Failed(on_host, &report)) return report;
      klang::AppendDiagnostics(std::move(on_host.result.diagnostics), &diagnostics);
    }
    const bool ok = on_device.result.ok && on_host.result.ok;
    report = {{"ok", ok},
              {"entry", on_host.result.entry},
              {"device_ms", on_device.result.ms},
              {"host_ms", on_host.result.ms},
              {"diagnostics", DiagnosticsJson(diagnostics)}};
    if (!ok) return report;
    KUAFU_TRY_STATUS(os::SealAll(on_device.bytes.get()));
    KUAFU_TRY_STATUS(os::SealAll(on_host.bytes.get()));
    fds->push_back(std::move(on_device.bytes));
    fds->push_back(std::move(on_host.bytes));
    return report;
  }

  Result<Json> Extension(const std::vector<klang::CompileRequest>& units, int64_t timeout_ms,
                         std::vector<os::UniqueFd>* fds) {
    CompileWorker& device = DeviceWorker(units[0]);
    KUAFU_TRY(ExtensionAnswer answer,
              CompileExtension(units, timeout_ms, device, HostWorker(units[0])));
    Json report;
    if (Failed(answer, &report)) return report;
    report = {{"ok", answer.ok},
              {"device_ms", answer.device_ms},
              {"host_ms", answer.host_ms},
              {"diagnostics", DiagnosticsJson(answer.diagnostics)}};
    if (!answer.ok) return report;
    for (const os::UniqueFd& fd : answer.files) KUAFU_TRY_STATUS(os::SealAll(fd.get()));
    *fds = std::move(answer.files);
    return report;
  }

  os::Channel channel_;
  std::vector<std::unique_ptr<CompileWorker>> workers_;  // the most recently used last
};

}  // namespace

int ServeCompiler() {
  Server server{os::Channel(os::UniqueFd(kChannelFd))};
  Status status = server.WarmUp();
  while (status.ok()) status = server.ServeOne();
  if (status.error().code == Code::kUnavailable) return 0;
  std::fprintf(stderr, "kuafu-compiler: serving: %s\n", status.error().ToString().c_str());
  return 4;
}

}  // namespace kuafu::cli
