// SPDX-License-Identifier: Apache-2.0
// The runner's mode for `verify`: loads one candidate, then calls its entry function once for each
// trial and order seed, with fresh copies of the inputs. One request frame comes in on descriptor 3
// with the device module, the shared object and the inputs; one answer frame per call goes out,
// then
// {"done": true}. A process that ends before that was brought down by the candidate.
//
// Everything from dlopen on runs in the sandbox, and every answer is bounded, but the candidate
// shares this address space: the parent must treat what it reads as the candidate's word.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "base/text.h"
#include "cli/runner.h"
#include "cli/runner_request.h"
#include "hostabi/host_code.h"
#include "hostabi/report.h"
#include "hostabi/tensors.h"
#include "os/channel.h"
#include "os/memfd.h"
#include "os/sandbox.h"

namespace kuafu::runner {
namespace {

constexpr int kChannelFd = 3;
constexpr int32_t kResultsMax = 64;
constexpr int kErrorBytesMax = 4096;
constexpr int64_t kSendMs = 60'000;

using Entry = void (*)(KuafuCall*);

// One call: builds the arguments, holds the references, gives them back at the end.
class Call {
 public:
  Call(hostabi::Session& session, const Trial& trial, std::span<const uint8_t> inputs)
      : session_(session), trial_(trial), inputs_(inputs) {}
  ~Call() {
    for (KuafuTensor* t : results_) kuafu_tensor_release(t);
    for (KuafuTensor* t : tensors_) kuafu_tensor_release(t);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Status MakeArguments();
  void Run(Entry entry);
  std::vector<std::string> InputsModified() const;

  hostabi::Outcome outcome;

 private:
  Result<KuafuTensor*> MakeInput(size_t index);
  std::span<const uint8_t> Bytes(const Argument& a) const {
    return inputs_.subspan(static_cast<size_t>(a.storage_at), static_cast<size_t>(a.storage_bytes));
  }

  hostabi::Session& session_;
  const Trial& trial_;
  std::span<const uint8_t> inputs_;
  std::vector<KuafuValue> values_;
  std::vector<KuafuTensor*> tensors_;  // by argument; nullptr where it is none
  std::vector<KuafuTensor*> results_;
};

Result<KuafuTensor*> Call::MakeInput(size_t index) {
  const Argument& a = trial_.arguments[index];
  // Arguments that share a storage in the reference share it here.
  for (size_t i = 0; i < index; ++i) {
    const Argument& other = trial_.arguments[i];
    if (tensors_[i] != nullptr && a.storage_bytes > 0 && other.storage_at == a.storage_at &&
        other.storage_bytes == a.storage_bytes)
      return hostabi::ShareTensor(session_, tensors_[i], a.layout);
  }
  return hostabi::MakeTensor(session_, a.layout, Bytes(a), a.name);
}

Status Call::MakeArguments() {
  for (size_t i = 0; i < trial_.arguments.size(); ++i) {
    const Argument& a = trial_.arguments[i];
    tensors_.push_back(nullptr);
    KuafuValue value{};
    value.kind = a.kind;
    if (a.kind == KUAFU_TENSOR) {
      KUAFU_TRY(tensors_.back(), MakeInput(i));
      value.tensor = tensors_.back();
    } else if (a.kind == KUAFU_REAL) {
      value.real = a.real;
    } else if (a.kind == KUAFU_INT_LIST) {
      value.count = static_cast<int32_t>(a.integers.size());
      value.integers = a.integers.data();
    } else if (a.kind != KUAFU_NONE) {
      value.integer = a.integer;
    }
    values_.push_back(value);
  }
  return OkStatus();
}

void Call::Run(Entry entry) {
  char text[kErrorBytesMax] = {};
  KuafuTensor* results[kResultsMax] = {};
  KuafuCall call{};
  call.size = sizeof call;
  call.argument_count = static_cast<int32_t>(values_.size());
  call.arguments = values_.data();
  call.result_capacity = kResultsMax;
  call.results = results;
  call.error_capacity = kErrorBytesMax;
  call.error = text;
  try {
    entry(&call);
  } catch (...) {
    call.status = KUAFU_CALL_THREW;
    call.result_count = 0;
    std::snprintf(text, sizeof text, "an exception left the entry function");
  }
  text[kErrorBytesMax - 1] = 0;
  std::vector<uint32_t> returned;
  for (const KuafuTensor* t : results) {
    if (t != nullptr && hostabi::IsTensor(session_, t))
      returned.push_back(hostabi::AllocationId(t));
  }
  session_.Finish(returned);
  session_.CheckRedZones();
  if (call.status != KUAFU_CALL_OK) {
    outcome.status = call.status == KUAFU_CALL_MISMATCH ? "mismatch" : "threw";
    outcome.error = text;
    return;
  }
  const int32_t count = std::clamp(call.result_count, 0, kResultsMax);
  for (int32_t i = 0; i < count; ++i) {
    if (results[i] != nullptr && hostabi::IsTensor(session_, results[i])) {
      results_.push_back(results[i]);
      if (hostabi::WhereIs(results[i]) == hostabi::Where::kHost) {
        outcome.status = "threw";
        outcome.error = "the entry function returned a tensor on the CPU (result " +
                        std::to_string(i) + "): create it with the options() of an input";
        continue;
      }
      outcome.outputs.push_back({.tensor = results[i]});
      continue;
    }
    outcome.status = "threw";
    outcome.error = "result " + std::to_string(i) +
                    " of the entry function is not a tensor, or its memory was freed";
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (trial_.arguments[i].output && tensors_[i] != nullptr)
      outcome.outputs.push_back({.tensor = tensors_[i], .argument = static_cast<int>(i)});
  }
}

std::vector<std::string> Call::InputsModified() const {
  std::vector<std::string> names;
  const auto is_output = [&](const Argument& a) {
    return std::any_of(trial_.arguments.begin(), trial_.arguments.end(), [&](const Argument& o) {
      return o.output && o.storage_at == a.storage_at && o.storage_bytes == a.storage_bytes;
    });
  };
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Argument& a = trial_.arguments[i];
    if (tensors_[i] == nullptr || a.storage_bytes == 0 || is_output(a)) continue;
    if (!hostabi::IsTensor(session_, tensors_[i])) {
      names.push_back(a.name);  // the candidate freed it
      continue;
    }
    const auto now = hostabi::StorageBytes(tensors_[i]);
    if (std::memcmp(now.data(), Bytes(a).data(), now.size()) != 0) names.push_back(a.name);
  }
  return names;
}

class Trials {
 public:
  Trials(os::Channel& channel, const Request& request, hostabi::Session& session, Entry entry,
         std::span<const uint8_t> inputs)
      : channel_(channel), request_(request), session_(session), entry_(entry), inputs_(inputs) {}

  Status Run() {
    for (size_t trial = 0; trial < request_.trials.size(); ++trial) {
      if (request_.trials[trial].skip) continue;
      for (size_t order = 0; order < request_.order_seeds.size(); ++order) {
        if (order > 0 && request_.trials[trial].sampling.on) break;
        KUAFU_TRY_STATUS(RunOne(trial, order));
        if (session_.stopped()) return SendJson({{"done", true}, {"stopped", true}}, {});
      }
    }
    return SendJson({{"done", true}}, {});
  }

 private:
  Status SendJson(const Json& json, std::span<const int> fds) {
    return channel_.Send(DumpJson(json), fds, os::Deadline::AfterMs(kSendMs));
  }
  Status RunOne(size_t trial, size_t order);

  os::Channel& channel_;
  const Request& request_;
  hostabi::Session& session_;
  Entry entry_;
  std::span<const uint8_t> inputs_;
  hostabi::Answers answers_;
};

Status Trials::RunOne(size_t trial, size_t order) {
  session_.Begin(request_.order_seeds[order], request_.trials[trial].sampling);
  const size_t used_bytes = session_.memory().used_bytes();
  hostabi::Answer answer;
  {
    Call call(session_, request_.trials[trial], inputs_);
    Status made = call.MakeArguments();
    if (made.ok()) {
      call.Run(entry_);
      if (request_.check_inputs) call.outcome.inputs_modified = call.InputsModified();
    } else {
      call.outcome.status = "threw";
      call.outcome.error = made.error().message;
    }
    KUAFU_TRY(answer, answers_.Make(session_, trial, order, call.outcome));
  }
  const size_t still_used = session_.memory().used_bytes();
  answer.json["leaked_bytes"] = still_used > used_bytes ? still_used - used_bytes : 0;
  const int fds[] = {answer.outputs.get()};
  return SendJson(answer.json,
                  answer.outputs.valid() ? std::span<const int>(fds) : std::span<const int>());
}

// The answer for a candidate that cannot be called at all.
Status Refuse(os::Channel& channel, const char* status, const std::string& error) {
  const Json answer = hostabi::Answers::Refusal(status, error);
  KUAFU_TRY_STATUS(channel.Send(DumpJson(answer), {}, os::Deadline::AfterMs(kSendMs)));
  return channel.Send(R"({"done":true,"stopped":true})", {}, os::Deadline::AfterMs(kSendMs));
}

Status Serve(os::Channel& channel) {
  KUAFU_TRY(os::Frame frame, channel.Receive(kFrameBytesMax, os::Deadline::Infinite()));
  KUAFU_TRY(const Request request, ParseRequest(frame.bytes));
  if (frame.fds.size() != 3) {
    return Error{Code::kInvalidInput, "reading a request: " + std::to_string(frame.fds.size()) +
                                          " descriptors came with it, expected module, shared "
                                          "object and inputs"};
  }
  KUAFU_TRY_STATUS(os::CheckSealed(frame.fds[0].get(), 1));
  KUAFU_TRY_STATUS(os::CheckSealed(frame.fds[1].get(), 1));
  KUAFU_TRY_STATUS(os::CheckSealed(frame.fds[2].get(), request.inputs_bytes));
  KUAFU_TRY(const int64_t module_bytes, os::FdSize(frame.fds[0].get()));
  KUAFU_TRY(const os::Mapping module,
            os::MapFd(frame.fds[0].get(), module_bytes, os::Access::kReadOnly));
  KUAFU_TRY(const os::Mapping inputs,
            os::MapFd(frame.fds[2].get(), request.inputs_bytes, os::Access::kReadOnly));
  // Never destroyed: static objects of the candidate may use it as long as the process lives.
  auto* session = new hostabi::Session(request.options);
  const Result<size_t> loaded = session->LoadModule(module.bytes());
  // Device variables that do not fit are the candidate's fault; anything else is ours.
  if (!loaded.ok() && loaded.error().code == Code::kExhausted)
    return Refuse(channel, "threw", loaded.error().message);
  if (!loaded.ok()) return loaded.error();
  hostabi::SetCurrent(session);
  // Files can still be opened for reading, because dlopen has to; static constructors of the
  // candidate run inside it, so the filter cannot wait until afterwards.
  KUAFU_TRY(const os::SandboxReport report, os::EnterSandbox({.files = os::FileAccess::kReadOnly}));
  for (const std::string& missing : report.missing)
    std::fprintf(stderr, "kuafu-runner: note: %s\n", missing.c_str());
  const std::string path = "/proc/self/fd/" + std::to_string(frame.fds[1].get());
  Result<void*> library = hostabi::LoadHostCode(*session, path.c_str());
  auto* entry = library.ok() ? reinterpret_cast<Entry>(dlsym(library.value(), "kuafu_entry"))
                             : static_cast<Entry>(nullptr);
  frame.fds.clear();
  if (!library.ok()) return Refuse(channel, "threw", library.error().message);
  if (entry == nullptr) {
    return Refuse(channel, "mismatch",
                  "the candidate has no entry function: it must define a function that returns "
                  "torch::Tensor, or name one by // kuafu: entry=NAME");
  }
  return Trials(channel, request, *session, entry, inputs.bytes()).Run();
}

}  // namespace

int TrialsMain() {
  os::Channel channel{os::UniqueFd(kChannelFd)};
  const Status status = Serve(channel);
  int exit_status = 0;
  if (!status.ok()) {
    const std::string text = status.error().ToString();
    std::fprintf(stderr, "kuafu-runner: %s\n", text.c_str());
    const Status sent =
        channel.Send(DumpJson({{"infra", text}}), {}, os::Deadline::AfterMs(kSendMs));
    (void)sent;  // the exit status says it as well
    exit_status = kInfraExit;
  }
  std::fflush(nullptr);
  // Without exit handlers: those that are left are the candidate's.
  _exit(exit_status);
}

}  // namespace kuafu::runner
