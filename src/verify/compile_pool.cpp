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

std::optional<Compiled> CompilePool::Find(const std::string& key) {
  std::lock_guard lock(mutex_);
  for (auto at = kept_.begin(); at != kept_.end(); ++at) {
    if (at->key != key) continue;
    kept_.splice(kept_.begin(), kept_, at);
    return at->compiled;
  }
  return std::nullopt;
}

void CompilePool::Keep(const std::string& key, const Compiled& compiled) {
  std::lock_guard lock(mutex_);
  kept_.push_front({key, compiled});
  if (kept_.size() > kept_max_) kept_.pop_back();
}

Result<Compiled> CompilePool::Compile(const CompileJob& job) {
  // The compiler itself is the same for as long as the pool lives.
  const std::string key =
      Hasher().Add(job.source).Add(job.file).Add(job.musa ? 1 : 0).Add(job.arch).Hex();
  if (std::optional<Compiled> kept = Find(key)) {
    kept->ms = 0;
    return *std::move(kept);
  }
  Result<Compiled> result = CompileAnew(job);
  if (kept_max_ > 0 && result.ok() && result.value().lasting) Keep(key, result.value());
  return result;
}

Result<Compiled> CompilePool::CompileAnew(const CompileJob& job) {
  std::unique_ptr<Worker> worker;
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !idle_.empty(); });
    worker = std::move(idle_.back());
    idle_.pop_back();
  }
  const int64_t begin = os::SystemClock().NowNs();
  Result<Compiled> result = CompileOn(*worker, job);
  if (!result.ok()) {
    // The worker itself failed, not the source: a new one, and the source once more.
    *worker = Worker();
    Status launched = Launch(compiler_, *worker);
    if (launched.ok()) result = CompileOn(*worker, job);
  }
  if (result.ok())
    result.value().ms = static_cast<double>(os::SystemClock().NowNs() - begin) / os::kNsPerMs;
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
  freed_.notify_one();
  return result;
}

Result<Compiled> CompilePool::CompileOn(Worker& worker, const CompileJob& job) {
  const int64_t id = worker.next_id++;
  const Json request = {{"id", id},         {"source", job.source},
                        {"file", job.file}, {"dialect", job.musa ? "musa" : "cuda"},
                        {"arch", job.arch}, {"timeout_ms", kTimeoutMs}};
  const os::Deadline deadline = os::Deadline::AfterMs(kAnswerMsMax);
  KUAFU_TRY_STATUS(worker.channel.Send(DumpJson(request), {}, deadline));
  KUAFU_TRY(os::Frame frame, worker.channel.Receive(kReplyBytesMax, deadline));
  KUAFU_TRY(const Json reply, ParseJson(frame.bytes));
  KUAFU_TRY(const int64_t answered, JsonInt(reply, "id"));
  if (answered != id) {
    return Error{Code::kInternal,
                 "compiling " + job.file + ": the compile worker answered request " +
                     std::to_string(answered) + " instead of " + std::to_string(id)};
  }
  if (JsonFind(reply, "infra") != nullptr) {
    KUAFU_TRY(const std::string text, JsonString(reply, "infra"));
    return Error{Code::kUnavailable, text};
  }
  Compiled compiled;
  KUAFU_TRY(compiled.ok, JsonBool(reply, "ok"));
  if (!compiled.ok) {
    compiled.lasting = JsonFind(reply, "diagnostics") != nullptr;
    if (JsonFind(reply, "crash") != nullptr) {
      KUAFU_TRY(const std::string crash, JsonString(reply, "crash"));
      compiled.message = "the compiler crashed on this source (" + crash + ")";
    } else if (JsonFind(reply, "timeout") != nullptr) {
      compiled.message = "the compiler took longer than " + std::to_string(kTimeoutMs / 1000) +
                         " s on this source";
    } else {
      compiled.message = Diagnostics(reply);
      if (compiled.message.empty()) compiled.message = "the compiler gave no reason";
    }
    return compiled;
  }
  KUAFU_TRY(compiled.entry, JsonString(reply, "entry"));
  compiled.no_entry = compiled.entry.empty();
  if (frame.fds.size() != 2) {
    return Error{Code::kInternal, "compiling " + job.file + ": " +
                                      std::to_string(frame.fds.size()) +
                                      " descriptors came back instead of 2"};
  }
  for (const os::UniqueFd& fd : frame.fds) {
    KUAFU_TRY_STATUS(os::CheckSealed(fd.get(), 1));
    KUAFU_TRY(const int64_t bytes, os::FdSize(fd.get()));
    if (bytes > kModuleBytesMax) {
      return Compiled{.message = "the compiled code has " + std::to_string(bytes) +
                                 " bytes, more than " + std::to_string(kModuleBytesMax)};
    }
  }
  compiled.module = std::make_shared<os::UniqueFd>(std::move(frame.fds[0]));
  compiled.shared_object = std::make_shared<os::UniqueFd>(std::move(frame.fds[1]));
  return compiled;
}

}  // namespace kuafu::verify
