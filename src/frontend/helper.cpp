// SPDX-License-Identifier: Apache-2.0
// Parent of python/zygote.py, whose first lines describe the protocol. The zygote keeps to the
// deadline by itself; this side waits a little longer and then kills it, so that a helper that is
// itself stuck costs one request and a restart.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "frontend/cache.h"
#include "frontend/decode.h"
#include "frontend/frontend.h"
#include "os/channel.h"
#include "os/file.h"
#include "os/memfd.h"
#include "os/process.h"

namespace kuafu::frontend {
namespace {

constexpr int kSocketFd = 3;
constexpr int64_t kAnswerBytesMax = int64_t{1} << 20;
constexpr int64_t kRequestMsMax = 600'000;
constexpr int64_t kGraceNs = 3 * os::kNsPerSecond;
constexpr int64_t kMemoryBytesMin = int64_t{64} << 20;
constexpr int64_t kMemoryBytesMax = int64_t{1} << 40;
constexpr int kSigKill = 9;
constexpr int kSigXcpu = 24;

// A change of any of these files makes other trials.
Result<std::string> HashScripts(const std::string& script) {
  const std::string package = os::JoinPath(os::DirName(script), "kuafu_frontend");
  KUAFU_TRY(const std::vector<std::string> names, os::ListDir(package, 1000));
  KUAFU_TRY(const std::string main, os::ReadFile(script, kSourceBytesMax));
  Hasher hasher;
  hasher.Add(main);
  for (const std::string& name : names) {
    if (!EndsWith(name, ".py")) continue;
    KUAFU_TRY(const std::string text, os::ReadFile(os::JoinPath(package, name), kSourceBytesMax));
    hasher.Add(name).Add(text);
  }
  return hasher.Hex();
}

std::string ExitText(const Json& reply) {
  os::ExitStatus status;
  if (auto number = JsonInt(reply, "signal"); number.ok()) {
    status.signal = static_cast<int>(number.value());
  } else if (auto code = JsonInt(reply, "exit_code"); code.ok()) {
    status.exit_code = static_cast<int>(code.value());
  }
  return status.ToString();
}

Json Head(const std::string& source, const std::string& name, int64_t memory_bytes) {
  return {{"source", source},
          {"name", name},
          {"memory_bytes", std::clamp(memory_bytes, kMemoryBytesMin, kMemoryBytesMax)}};
}

Json ToJson(const TrialRequest& request) {
  Json document = Head(request.source, request.name, request.memory_bytes);
  document["source_hash"] = HashHex(request.source);
  document["plan"] = request.plan == Plan::kQuick ? "quick" : "full";
  document["seed"] = std::to_string(request.seed);
  document["nominal_only"] = request.nominal_only;
  document["nominal_trial"] = request.nominal_trial;
  document["as_built"] = request.as_built;
  document["compat_kernelbench"] = request.compat_kernelbench;
  document["alternatives"] = request.alternatives;
  return document;
}

Status CheckSource(const std::string& source) {
  const auto bytes = static_cast<int64_t>(source.size());
  if (bytes > kSourceBytesMax) {
    return Error{Code::kInvalidInput,
                 "the file has " + FormatBytes(bytes) + ", limit " + FormatBytes(kSourceBytesMax)};
  }
  if (!IsUtf8(source)) {
    return Error{Code::kInvalidInput, "the file is not UTF-8 text; save it as UTF-8"};
  }
  return OkStatus();
}

// The file has ended its process without an answer.
Error EndedError(const Json& reply, const std::string& stage) {
  const auto signal = JsonInt(reply, "signal");
  if (signal.ok() && signal.value() == kSigXcpu) {
    return Error{Code::kDeadline, stage + ": used up its processor time; make the sizes smaller"};
  }
  if (signal.ok() && signal.value() == kSigKill) {
    return Error{Code::kExhausted,
                 stage +
                     ": the process was killed, most likely for its memory; make the sizes "
                     "smaller"};
  }
  return Error{Code::kInvalidInput,
               stage + ": the file ended its process (" + ExitText(reply) + ")"};
}

}  // namespace

struct Helper::Impl {
  Options options;
  std::string script_hash;
  std::string torch;
  std::optional<os::Process> process;
  os::Channel channel;
  bool ready = false;
  int64_t next_id = 1;

  Status Spawn();
  Status WaitReady(const os::Deadline& deadline);
  Result<os::Frame> Wait(const os::Deadline& deadline);
  Result<Answer> Ask(Json document, const os::Deadline& deadline);
  Result<Answer> TakeAnswer(os::Frame frame, int64_t id);
  void Stop();
};

void Helper::Impl::Stop() {
  if (process.has_value() && process->running()) {
    process->Kill();
    auto ignored = process->Wait(os::Deadline::AfterMs(5000));
    static_cast<void>(ignored.ok());
  }
  process.reset();
  channel.Close();
  ready = false;
}

Status Helper::Impl::Spawn() {
  KUAFU_TRY(os::ChannelPair pair, os::CreateChannelPair());
  os::SpawnOptions spawn;
  // Few large pages instead of many small ones: most of what a fork costs is page faults.
  spawn.environment = std::vector<std::string>{"PATH=/usr/bin:/bin",
                                               "LANG=C.UTF-8",
                                               "HOME=/nonexistent",
                                               "OMP_NUM_THREADS=1",
                                               "MKL_NUM_THREADS=1",
                                               "OPENBLAS_NUM_THREADS=1",
                                               "MALLOC_MMAP_THRESHOLD_=1073741824",
                                               "MALLOC_TRIM_THRESHOLD_=1073741824",
                                               "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
  spawn.inherited_fds = {{pair.theirs.get(), kSocketFd}};
  spawn.stderr_stream = os::Stream::kCapture;
  spawn.capture_bytes_max = 64 * kKiB;
  // It ends by itself when the socket closes; the thread that starts it may be a short-lived one.
  spawn.die_with_parent = false;
  // Isolated, and without writing compiled files into the source tree.
  auto started = os::Spawn({options.python, "-I", "-B", options.script}, spawn);
  if (!started.ok()) {
    return Error{Code::kUnavailable, "starting the reference helper with " + options.python + ": " +
                                         started.error().message + "; install python3-torch"};
  }
  process = std::move(started).value();
  channel = std::move(pair.ours);
  ready = false;
  return OkStatus();
}

// Takes the helper's output meanwhile.
Result<os::Frame> Helper::Impl::Wait(const os::Deadline& deadline) {
  KUAFU_TRY(const os::WaitEvent event, process->WaitReadable(channel.fd(), deadline));
  auto frame = channel.Receive(
      kAnswerBytesMax, event == os::WaitEvent::kReadable ? deadline : os::Deadline::AfterMs(0));
  // After its end no more comes, even if a child of its still has the other end of the channel.
  if (frame.ok() || (frame.error().code == Code::kDeadline && event == os::WaitEvent::kReadable))
    return frame;
  const std::string output = EscapeForMessage(Trim(process->captured_stderr()), 300);
  return Error{Code::kUnavailable,
               "the reference helper has ended" + (output.empty() ? "" : ": " + output)};
}

Status Helper::Impl::WaitReady(const os::Deadline& deadline) {
  if (!process.has_value() || !process->running()) KUAFU_TRY_STATUS(Spawn());
  if (ready) return OkStatus();
  auto frame = Wait(deadline);
  if (!frame.ok()) {
    if (frame.error().code != Code::kDeadline) Stop();
    return std::move(frame).error().WithContext("starting the reference helper");
  }
  KUAFU_TRY(const Json hello, ParseJson(frame.value().bytes));
  KUAFU_TRY(const bool usable, JsonBool(hello, "ready"));
  if (!usable) {
    Stop();
    auto reason = JsonString(hello, "error");
    return Error{Code::kUnavailable, "importing PyTorch with " + options.python + ": " +
                                         (reason.ok() ? reason.value() : "no reason given") +
                                         "; install python3-torch"};
  }
  KUAFU_TRY(torch, JsonString(hello, "torch"));
  if (!options.cache_dir.empty()) {
    KUAFU_TRY(const std::string file, JsonString(hello, "torch_file"));
    // Without it the next start waits for the import; nothing else is lost.
    const Status kept = RememberTorch(options.cache_dir, options.python, torch, file);
    static_cast<void>(kept.ok());
  }
  ready = true;
  return OkStatus();
}

Result<Answer> Helper::Impl::TakeAnswer(os::Frame frame, int64_t id) {
  KUAFU_TRY(const Json reply, ParseJson(frame.bytes));
  KUAFU_TRY(const int64_t reply_id, JsonInt(reply, "id"));
  if (reply_id != id) return Error{Code::kInternal, "the reference helper answers out of turn"};
  KUAFU_TRY(const std::string status, JsonString(reply, "status"));
  KUAFU_TRY(const std::string stage, JsonString(reply, "stage"));
  if (status == "deadline") {
    return Error{Code::kDeadline, stage + ": not finished before the deadline"};
  }
  if (status != "answered") return EndedError(reply, stage);
  if (frame.fds.size() != 3) {
    return Error{Code::kInternal, "the reference helper sent no data"};
  }
  KUAFU_TRY_STATUS(os::CheckSealed(frame.fds[0].get(), 0));
  KUAFU_TRY(const int64_t bytes, os::FdSize(frame.fds[0].get()));
  if (bytes > kReplyBytesMax) return Error{Code::kCorrupt, "the helper's answer is too long"};
  KUAFU_TRY(const os::Mapping map, os::MapFd(frame.fds[0].get(), bytes, os::Access::kReadOnly));
  Answer answer;
  answer.reply.assign(reinterpret_cast<const char*>(map.bytes().data()),
                      static_cast<size_t>(bytes));
  answer.inputs = std::move(frame.fds[1]);
  answer.truth = std::move(frame.fds[2]);
  return answer;
}

// `document` has everything but the number and the limits of the request.
Result<Answer> Helper::Impl::Ask(Json document, const os::Deadline& deadline) {
  KUAFU_TRY_STATUS(WaitReady(deadline));
  const int64_t id = next_id++;
  const int64_t left_ms = std::min(deadline.RemainingNs() / os::kNsPerMs, kRequestMsMax);
  if (left_ms <= 0) return Error{Code::kDeadline, "no time left for the reference"};
  document["id"] = id;
  document["timeout_ms"] = left_ms;
  const os::Deadline last =
      os::Deadline::After(os::SystemClock(), left_ms * os::kNsPerMs + kGraceNs);
  const Status sent = channel.Send(DumpJson(document), {}, last);
  if (!sent.ok()) {
    Stop();
    return Error{Code::kUnavailable, "the reference helper has ended; try again"};
  }
  auto frame = Wait(last);
  if (!frame.ok()) {
    Stop();  // the next request starts a fresh one
    return std::move(frame).error().WithContext("running " + document["name"].get<std::string>());
  }
  auto answer = TakeAnswer(std::move(frame).value(), id);
  if (!answer.ok() && answer.error().code == Code::kInternal) Stop();
  return answer;
}

Helper::Helper(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Helper::~Helper() { impl_->Stop(); }

std::string Helper::torch_version() const { return impl_->torch; }

Result<std::unique_ptr<Helper>> Helper::Start(const Options& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  if (impl->options.script.empty()) impl->options.script = KUAFU_FRONTEND_SCRIPT;
  auto hash = HashScripts(impl->options.script);
  if (!hash.ok()) {
    return Error{Code::kUnavailable, "reading the reference helper " + impl->options.script + ": " +
                                         hash.error().message};
  }
  impl->script_hash = std::move(hash).value();
  if (!options.cache_dir.empty()) {
    if (auto known = KnownTorch(options.cache_dir, options.python)) impl->torch = *known;
  }
  KUAFU_TRY_STATUS(impl->Spawn());
  return std::unique_ptr<Helper>(new Helper(std::move(impl)));
}

Result<TrialSet> Helper::MakeTrials(const TrialRequest& request, const os::Deadline& deadline) {
  KUAFU_TRY_STATUS(CheckSource(request.source));
  const int64_t start = os::SystemClock().NowNs();
  const std::string& directory = impl_->options.cache_dir;
  std::string key;
  if (!directory.empty()) {
    if (impl_->torch.empty()) KUAFU_TRY_STATUS(impl_->WaitReady(deadline));
    key = CacheKey(request, impl_->script_hash, impl_->torch);
    if (auto known = LoadAnswer(directory, key)) {
      auto set = DecodeReply(known->reply, std::move(known->inputs), known->truth);
      if (set.ok()) {
        set.value().seconds = static_cast<double>(os::SystemClock().NowNs() - start) * 1e-9;
        return set;
      }
    }
  }
  KUAFU_TRY(Answer answer, impl_->Ask(ToJson(request), deadline));
  KUAFU_TRY(os::UniqueFd inputs, answer.inputs.Duplicate());
  auto set = DecodeReply(answer.reply, std::move(inputs), answer.truth);
  if (!set.ok()) return std::move(set).error().WithContext(request.name);
  set.value().seconds = static_cast<double>(os::SystemClock().NowNs() - start) * 1e-9;
  if (!directory.empty()) {
    // A full disk costs time at the next call, not this result.
    const Status kept = StoreAnswer(directory, key, answer);
    static_cast<void>(kept.ok());
  }
  return set;
}

Result<task::OperatorList> Helper::ListOperators(const OperatorRequest& request,
                                                 const os::Deadline& deadline) {
  KUAFU_TRY_STATUS(CheckSource(request.source));
  Json document = Head(request.source, request.name, request.memory_bytes);
  document["operators"] = true;
  KUAFU_TRY(document["sizes"], ParseJson(request.sizes_json, kSizesBytesMax));
  KUAFU_TRY(const Answer answer, impl_->Ask(std::move(document), deadline));
  auto list = DecodeOperators(answer.reply);
  if (!list.ok()) return std::move(list).error().WithContext(request.name);
  return list;
}

}  // namespace kuafu::frontend
