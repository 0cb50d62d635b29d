// SPDX-License-Identifier: Apache-2.0
// Client side of the compile workers.
#include "verify/compile_pool.h"

#include "base/hash.h"
#include "base/json.h"
#include "os/clock.h"
#include "os/memfd.h"

namespace kuafu::verify {
namespace {

constexpr int64_t kTimeoutMs = 20'000;  // CPU time of one source, enforced by the worker
// Until its answer has come: on a busy machine, and with its headers to parse first.
constexpr int64_t kAnswerMsMax = 300'000;
constexpr int64_t kReplyBytesMax = 16 << 20;
constexpr int64_t kModuleBytesMax = 64 << 20;
constexpr size_t kSourceBytesMax = 4 << 20;           // of one extension, as of one source
constexpr size_t kUnitsMax = os::kChannelFdsMax - 1;  // their modules and the library in one frame

// The errors alone, most useful first: what a person or a model has to read.
std::string Diagnostics(const Json& reply) {
  std::string text;
  const Json* list = JsonFind(reply, "diagnostics");
  if (list == nullptr || !list->is_array()) return text;
  for (const Json& d : *list) {
    Result<std::string> severity = JsonString(d, "severity");
    Result<std::string> line = JsonString(d, "text");
    if (!line.ok() || (severity.ok() && severity.value() != "error")) continue;
    text += (text.empty() ? "" : "\n") + line.value();
  }
  return text;
}

}  // namespace

uint32_t ArchOf(const device::Profile& profile, bool musa) {
  if (musa == profile.musa) return profile.arch;
  return musa ? 310 : 900;
}

Status CompilePool::Launch(const std::string& compiler, Worker& worker) {
  KUAFU_TRY(os::ChannelPair pair, os::CreateChannelPair());
  KUAFU_TRY(worker.process,
            os::Spawn({compiler, "--serve"}, {.inherited_fds = {{pair.theirs.get(), 3}}}));
  worker.channel = std::move(pair.ours);
  return OkStatus();
}

Result<std::unique_ptr<CompilePool>> CompilePool::Start(const std::string& compiler, int workers,
                                                        size_t kept) {
  auto pool = std::make_unique<CompilePool>();
  pool->kept_max_ = kept;
  pool->compiler_ = compiler;
  for (int i = 0; i < workers; ++i) {
    auto worker = std::make_unique<Worker>();
    KUAFU_TRY_STATUS(Launch(compiler, *worker));
    pool->idle_.push_back(std::move(worker));
  }
  return pool;
}

std::optional<CompilePool::Outcome> CompilePool::Find(const std::string& key) {
  std::lock_guard lock(mutex_);
  for (auto at = kept_.begin(); at != kept_.end(); ++at) {
    if (at->key != key) continue;
    kept_.splice(kept_.begin(), kept_, at);
    return at->outcome;
  }
  return std::nullopt;
}

void CompilePool::Keep(const std::string& key, const Outcome& outcome) {
  std::lock_guard lock(mutex_);
  kept_.push_front({key, outcome});
  if (kept_.size() > kept_max_) kept_.pop_back();
}

Result<Compiled> CompilePool::Compile(const CompileJob& job) {
  // The compiler itself is the same for as long as the pool lives.
  const std::string key =
      Hasher().Add(job.source).Add(job.file).Add(job.musa ? 1 : 0).Add(job.arch).Hex();
  const Request request{{{"source", job.source},
                         {"file", job.file},
                         {"dialect", job.musa ? "musa" : "cuda"},
                         {"arch", job.arch}},
                        job.file,
                        2};
  KUAFU_TRY(Outcome outcome, Answer(key, request));
  Compiled compiled;
  compiled.ok = outcome.ok;
  compiled.message = std::move(outcome.message);
  compiled.ms = outcome.ms;
  compiled.lasting = outcome.lasting;
  if (!outcome.ok) return compiled;
  compiled.entry = std::move(outcome.entry);
  compiled.no_entry = compiled.entry.empty();
  compiled.module = std::move(outcome.files[0]);
  compiled.shared_object = std::move(outcome.files[1]);
  return compiled;
}

Result<CompiledExtension> CompilePool::CompileExtension(const ExtensionJob& job) {
  CompiledExtension compiled;
  if (job.units.empty() || job.units.size() > kUnitsMax) {
    compiled.message = "an extension of " + std::to_string(job.units.size()) +
                       " source files: there must be 1 to " + std::to_string(kUnitsMax);
    return compiled;
  }
  size_t source_bytes = 0;
  for (const ExtensionUnit& unit : job.units) source_bytes += unit.source.size();
  if (source_bytes > kSourceBytesMax) {
    compiled.message = "an extension of " + std::to_string(source_bytes) + " bytes: the limit is " +
                       std::to_string(kSourceBytesMax);
    return compiled;
  }
  Hasher hasher;
  hasher.Add("extension").Add(job.musa ? 1 : 0).Add(job.arch).Add(job.units.size());
  Request request{{{"units", Json::array()},
                   {"defines", job.defines},
                   {"dialect", job.musa ? "musa" : "cuda"},
                   {"arch", job.arch}},
                  job.units[0].file,
                  1};
  for (const ExtensionUnit& unit : job.units) {
    hasher.Add(unit.file).Add(unit.source).Add(unit.device ? 1 : 0);
    request.json["units"].push_back(
        {{"file", unit.file}, {"source", unit.source}, {"device", unit.device}});
    request.files += unit.device ? 1 : 0;
  }
  for (const std::string& define : job.defines) hasher.Add(define);
  KUAFU_TRY(Outcome outcome, Answer(hasher.Hex(), request));
  compiled.ok = outcome.ok;
  compiled.message = std::move(outcome.message);
  compiled.ms = outcome.ms;
  compiled.lasting = outcome.lasting;
  if (!outcome.ok) return compiled;
  size_t next = 0;
  for (const ExtensionUnit& unit : job.units)
    compiled.modules.push_back(unit.device ? std::move(outcome.files[next++]) : nullptr);
  compiled.shared_object = std::move(outcome.files[next]);
  return compiled;
}

Result<CompilePool::Outcome> CompilePool::Answer(const std::string& key, const Request& request) {
  if (std::optional<Outcome> kept = Find(key)) {
    kept->ms = 0;
    return *std::move(kept);
  }
  Result<Outcome> result = CompileAnew(request);
  if (kept_max_ > 0 && result.ok() && result.value().lasting) Keep(key, result.value());
  return result;
}

Result<CompilePool::Outcome> CompilePool::CompileAnew(const Request& request) {
  std::unique_ptr<Worker> worker;
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !idle_.empty(); });
    worker = std::move(idle_.back());
    idle_.pop_back();
  }
  const int64_t begin = os::SystemClock().NowNs();
  Result<Outcome> result = CompileOn(*worker, request);
  if (!result.ok()) {
    // The worker itself failed, not the source: a new one, and the source once more.
    *worker = Worker();
    Status launched = Launch(compiler_, *worker);
    if (launched.ok()) result = CompileOn(*worker, request);
  }
  if (result.ok())
    result.value().ms = static_cast<double>(os::SystemClock().NowNs() - begin) / os::kNsPerMs;
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
  freed_.notify_one();
  return result;
}

Result<CompilePool::Outcome> CompilePool::CompileOn(Worker& worker, const Request& request) {
  const int64_t id = worker.next_id++;
  Json json = request.json;
  json["id"] = id;
  json["timeout_ms"] = kTimeoutMs;
  const os::Deadline deadline = os::Deadline::AfterMs(kAnswerMsMax);
  KUAFU_TRY_STATUS(worker.channel.Send(DumpJson(json), {}, deadline));
  KUAFU_TRY(os::Frame frame, worker.channel.Receive(kReplyBytesMax, deadline));
  KUAFU_TRY(const Json reply, ParseJson(frame.bytes));
  KUAFU_TRY(const int64_t answered, JsonInt(reply, "id"));
  if (answered != id) {
    return Error{Code::kInternal,
                 "compiling " + request.file + ": the compile worker answered request " +
                     std::to_string(answered) + " instead of " + std::to_string(id)};
  }
  if (JsonFind(reply, "infra") != nullptr) {
    KUAFU_TRY(const std::string text, JsonString(reply, "infra"));
    return Error{Code::kUnavailable, text};
  }
  Outcome outcome;
  KUAFU_TRY(outcome.ok, JsonBool(reply, "ok"));
  if (!outcome.ok) {
    outcome.lasting = JsonFind(reply, "diagnostics") != nullptr;
    if (JsonFind(reply, "crash") != nullptr) {
      KUAFU_TRY(const std::string crash, JsonString(reply, "crash"));
      outcome.message = "the compiler crashed on this source (" + crash + ")";
    } else if (JsonFind(reply, "timeout") != nullptr) {
      outcome.message = "the compiler took longer than " + std::to_string(kTimeoutMs / 1000) +
                        " s on this source";
    } else {
      outcome.message = Diagnostics(reply);
      if (outcome.message.empty()) outcome.message = "the compiler gave no reason";
    }
    return outcome;
  }
  if (JsonFind(reply, "entry") != nullptr) {
    KUAFU_TRY(outcome.entry, JsonString(reply, "entry"));
  }
  if (frame.fds.size() != request.files) {
    return Error{Code::kInternal,
                 "compiling " + request.file + ": " + std::to_string(frame.fds.size()) +
                     " descriptors came back instead of " + std::to_string(request.files)};
  }
  for (os::UniqueFd& fd : frame.fds) {
    KUAFU_TRY_STATUS(os::CheckSealed(fd.get(), 1));
    KUAFU_TRY(const int64_t bytes, os::FdSize(fd.get()));
    if (bytes > kModuleBytesMax) {
      return Outcome{.message = "the compiled code has " + std::to_string(bytes) +
                                " bytes, more than " + std::to_string(kModuleBytesMax)};
    }
    outcome.files.push_back(std::make_shared<os::UniqueFd>(std::move(fd)));
  }
  return outcome;
}

}  // namespace kuafu::verify
