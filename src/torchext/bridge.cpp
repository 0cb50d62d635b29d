// SPDX-License-Identifier: Apache-2.0
// The C functions that the Python side of the candidate's process calls (python/kuafu_candidate/
// device.py declares them for ctypes). Texts are JSON. One session, one channel, one thread.
//
// A function that returns a text returns nullptr when it failed; kuafu_host_error() says why. The
// texts live until the next call.
#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "device/profile.h"
#include "hostabi/api_macros.h"
#include "hostabi/host_code.h"
#include "hostabi/report.h"
#include "hostabi/session.h"
#include "os/channel.h"
#include "os/sandbox.h"
#include "simt/counters_json.h"
#include "torchext/allocator.h"
#include "torchext/extension.h"
#include "torchext/origins.h"

namespace kuafu::torchext {
namespace {

constexpr int64_t kFrameBytesMax = 64 << 20;
constexpr int64_t kSendMs = 60'000;
constexpr size_t kOutputsMax = 64;

// Everything that lives as long as the process; never destroyed, because PyTorch frees tensors at
// the very end.
struct Host {
  os::Channel channel;
  std::optional<hostabi::Session> session;
  std::optional<Origins> origins;
  hostabi::Answers answers;
  std::vector<std::unique_ptr<KuafuModule>> extensions;
  std::vector<os::UniqueFd> received;
  size_t work_told = 0;
  // Kept open: dlopen knows a library by its path, and the number of a closed descriptor comes
  // back.
  std::vector<os::UniqueFd> libraries;
  std::string text, error;
};
Host& TheHost() {
  static Host* host = new Host;
  return *host;
}

const char* Return(std::string text) {
  TheHost().text = std::move(text);
  return TheHost().text.c_str();
}
const char* Refuse(Error error) {
  TheHost().error = std::move(error.message);
  return nullptr;
}
template <class T>
const char* Answer(Result<T> result) {
  if (!result.ok()) return Refuse(std::move(result).error());
  if constexpr (std::is_same_v<T, Json>)
    return Return(DumpJson(result.value()));
  else
    return Return(std::move(result).value());
}
const char* Answer(Status status) {
  if (!status.ok()) return Refuse(std::move(status).error());
  return Return("{}");
}

Status Send(const Json& json, std::span<const int> fds = {}) {
  return TheHost().channel.Send(DumpJson(json), fds, os::Deadline::AfterMs(kSendMs));
}

// {"target", "warp_width", "sanitize", "memory_bytes", "max_dispatches"}, optional "count"
Status StartSession(const Json& json) {
  hostabi::SessionOptions options;
  KUAFU_TRY(const std::string text, JsonString(json, "target"));
  KUAFU_TRY(const device::Target target, device::ParseTarget(text));
  options.profile = target.profile;
  KUAFU_TRY(const int64_t width, JsonInt(json, "warp_width"));
  options.warp_width = static_cast<uint32_t>(width);
  KUAFU_TRY(options.sanitize, JsonBool(json, "sanitize"));
  if (const Json* count = JsonFind(json, "count"))
    options.count = count->is_boolean() && count->get<bool>();
  if (const Json* only = JsonFind(json, "counts_only"))
    options.counts_only = only->is_boolean() && only->get<bool>();
  KUAFU_TRY(const int64_t memory_bytes, JsonInt(json, "memory_bytes"));
  KUAFU_TRY(const int64_t dispatches, JsonInt(json, "max_dispatches"));
  options.memory_bytes = static_cast<size_t>(memory_bytes);
  options.max_dispatches = static_cast<uint64_t>(dispatches);
  Host& host = TheHost();
  host.session.emplace(options);
  host.origins.emplace(*host.session);
  if (!options.counts_only) host.session->data_flow = &*host.origins;
  hostabi::SetCurrent(&*host.session);
  UseDevice(&*host.session);
  return OkStatus();
}

// The parent compiles; we load. {"ok": true, "extension": n, "functions": [...]} or {"ok": false,
// "message"}.
Result<Json> Load(const Json& job) {
  Host& host = TheHost();
  KUAFU_TRY_STATUS(Send({{"compile", job}}));
  KUAFU_TRY(os::Frame frame, host.channel.Receive(kFrameBytesMax, os::Deadline::Infinite()));
  KUAFU_TRY(Json reply, ParseJson(frame.bytes, kFrameBytesMax));
  KUAFU_TRY(const bool ok, JsonBool(reply, "ok"));
  if (!ok) return reply;
  const Json* devices = JsonFind(reply, "device_units");
  if (devices == nullptr || !devices->is_array() || frame.fds.size() != devices->size() + 1)
    return Error{Code::kInternal, "loading an extension: the answer has the wrong descriptors"};
  KUAFU_TRY(const int64_t units, JsonInt(reply, "units"));
  std::vector<size_t> modules(static_cast<size_t>(units));
  for (size_t i = 0; i < devices->size(); ++i) {
    const int fd = frame.fds[i + 1].get();
    KUAFU_TRY_STATUS(os::CheckSealed(fd, 1));
    KUAFU_TRY(const int64_t bytes, os::FdSize(fd));
    KUAFU_TRY(const os::Mapping map, os::MapFd(fd, bytes, os::Access::kReadOnly));
    KUAFU_TRY(modules.at((*devices)[i].get<size_t>()), host.session->LoadModule(map.bytes()));
  }
  const std::string path = "/proc/self/fd/" + std::to_string(frame.fds[0].get());
  host.libraries.push_back(std::move(frame.fds[0]));
  KUAFU_TRY(void* library, hostabi::LoadUnits(*host.session, path.c_str(), modules));
  auto* define = reinterpret_cast<void (*)(KuafuModule*)>(dlsym(library, "kuafu_extension"));
  auto module = std::make_unique<KuafuModule>();
  if (define != nullptr) {
    try {
      define(module.get());
    } catch (...) {
      return Error{Code::kInvalidInput, "loading an extension: its PYBIND11_MODULE threw"};
    }
  }
  Json described = Describe(*module);
  described["ok"] = true;
  described["extension"] = host.extensions.size();
  host.extensions.push_back(std::move(module));
  return described;
}

Result<Json> CallFunction(int32_t extension, int32_t index, const char* arguments) {
  Host& host = TheHost();
  if (extension < 0 || static_cast<size_t>(extension) >= host.extensions.size())
    return Error{Code::kInternal, "calling an extension that is not loaded"};
  const auto& functions = host.extensions[static_cast<size_t>(extension)]->functions;
  if (index < 0 || static_cast<size_t>(index) >= functions.size())
    return Error{Code::kInternal, "calling a function that the extension does not have"};
  KUAFU_TRY(const Json json, ParseJson(arguments, kFrameBytesMax));
  return Call(*host.session, functions[static_cast<size_t>(index)], json);
}

std::vector<uint32_t> Ids(void* const* storages, int32_t count) {
  std::vector<uint32_t> ids;
  for (int32_t i = 0; i < count; ++i) {
    const uint32_t id = TheHost().session->memory().IdOf(reinterpret_cast<uint64_t>(storages[i]));
    if (id != 0) ids.push_back(id);
  }
  return ids;
}

// {"trial", "order", "status", "error", "outputs": [{"tensor", "argument"}], "inputs_modified",
// "extra": {...}}: the answer to one call; what is in "extra" is added to it.
Status SendAnswer(const Json& json) {
  Host& host = TheHost();
  hostabi::Outcome outcome;
  KUAFU_TRY(const int64_t trial, JsonInt(json, "trial"));
  KUAFU_TRY(const int64_t order, JsonInt(json, "order"));
  KUAFU_TRY(outcome.status, JsonString(json, "status"));
  KUAFU_TRY(outcome.error, JsonString(json, "error"));
  for (const Json& name : json.at("inputs_modified"))
    outcome.inputs_modified.push_back(name.get<std::string>());
  Json origins = Json::array();
  std::vector<uint32_t> returned;
  for (const Json& output : json.at("outputs")) {
    if (outcome.outputs.size() >= kOutputsMax) break;
    Result<KuafuTensor*> tensor = WrapTensor(*host.session, output.at("tensor"));
    if (!tensor.ok()) {
      outcome.status = "threw";
      outcome.error = tensor.error().message;
      break;
    }
    const uint32_t id = hostabi::AllocationId(tensor.value());
    returned.push_back(id);
    outcome.outputs.push_back({tensor.value(), output.at("argument").get<int>()});
    origins.push_back({{"sources", Origins::Names(host.origins->Of(id))},
                       {"operator", host.origins->OperatorOf(id)}});
  }
  host.session->Finish(returned);
  host.session->CheckRedZones();
  KUAFU_TRY(hostabi::Answer answer, host.answers.Make(*host.session, static_cast<size_t>(trial),
                                                      static_cast<size_t>(order), outcome));
  for (const hostabi::Output& output : outcome.outputs) kuafu_tensor_release(output.tensor);
  answer.json["origins"] = std::move(origins);
  answer.json.update(json.at("extra"));
  answer.json["stopped"] = host.session->stopped();
  const int fds[] = {answer.outputs.get()};
  return Send(answer.json,
              answer.outputs.valid() ? std::span<const int>(fds) : std::span<const int>());
}

Json NewWork() {
  Host& host = TheHost();
  const auto& all = host.session->work();
  Json list = Json::array();
  for (; host.work_told < all.size(); ++host.work_told) {
    const hostabi::Work& work = all[host.work_told];
    switch (work.kind) {
      case hostabi::Work::Kind::kLaunch: list.push_back({"launch", work.launch}); break;
      case hostabi::Work::Kind::kCopy: list.push_back({"copy", work.bytes}); break;
      case hostabi::Work::Kind::kFill: list.push_back({"fill", work.bytes}); break;
    }
  }
  Json findings = Json::array();
  for (const hostabi::Finding& f : host.session->findings())
    if (findings.size() < 4) findings.push_back(hostabi::Describe(f));
  return {{"work", std::move(list)},
          {"blind", host.session->blind()},
          {"findings", std::move(findings)},
          {"library_call", host.session->library_call}};
}

Result<Json> EnterTheSandbox() {
  KUAFU_TRY(const os::SandboxReport report, os::EnterSandbox({.files = os::FileAccess::kReadOnly}));
  return Json{{"missing", report.missing}};
}

// DLPack's structure, version 0.x, which every PyTorch reads.
struct DlTensor {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DlManaged {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged*);
};
struct Exported {
  DlManaged managed;
  hostabi::TensorLayout layout;
  KuafuTensor* tensor;
};

DlManaged* Export(KuafuTensor* tensor) {
  auto* e = new Exported{{}, hostabi::LayoutOf(tensor), tensor};
  constexpr int32_t kCpu = 1;
  constexpr uint8_t kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4;
  uint8_t code = kFloat, bits = 32;
  switch (e->layout.dtype) {
    case KUAFU_BOOL:  // as bytes: older versions of PyTorch take no booleans
    case KUAFU_UINT8: code = kUint, bits = 8; break;
    case KUAFU_INT8: code = kInt, bits = 8; break;
    case KUAFU_INT16: code = kInt, bits = 16; break;
    case KUAFU_INT32: code = kInt, bits = 32; break;
    case KUAFU_INT64: code = kInt, bits = 64; break;
    case KUAFU_FLOAT16: bits = 16; break;
    case KUAFU_FLOAT64: bits = 64; break;
    case KUAFU_BFLOAT16: code = kBfloat, bits = 16; break;
    default: break;
  }
  // The whole storage, so that the address PyTorch sees is where the allocation starts.
  const auto storage = hostabi::StorageBytes(tensor);
  e->layout.sizes = {static_cast<int64_t>(storage.size() * 8 / bits)};
  e->layout.strides = {1};
  e->managed.tensor = {const_cast<uint8_t*>(storage.data()),
                       kCpu,
                       0,
                       1,
                       code,
                       bits,
                       1,
                       e->layout.sizes.data(),
                       e->layout.strides.data(),
                       0};
  e->managed.context = e;
  e->managed.deleter = [](DlManaged* managed) {
    auto* exported = static_cast<Exported*>(managed->context);
    kuafu_tensor_release(exported->tensor);
    delete exported;
  };
  return &e->managed;
}

}  // namespace
}  // namespace kuafu::torchext

namespace host = kuafu::torchext;
using kuafu::Json;

namespace {
// A text of our own side, which is well formed.
Json Parsed(const char* text) {
  auto json = kuafu::ParseJson(text, host::kFrameBytesMax);
  return json.ok() ? std::move(json).value() : Json();
}
}  // namespace

KUAFU_EXPORT const char* kuafu_host_error(void) { return host::TheHost().error.c_str(); }

// The channel to the parent. One at a time; the descriptor is taken over.
KUAFU_EXPORT void kuafu_host_open(int32_t fd) {
  host::TheHost().channel = kuafu::os::Channel(kuafu::os::UniqueFd(fd));
}
KUAFU_EXPORT const char* kuafu_host_send(const char* text, const int32_t* fds, int32_t count) {
  return host::Answer(host::TheHost().channel.Send(text, {fds, static_cast<size_t>(count)},
                                                   kuafu::os::Deadline::AfterMs(host::kSendMs)));
}
// Waits. Descriptors that came with the frame are taken by kuafu_host_take_fd.
KUAFU_EXPORT const char* kuafu_host_receive(void) {
  auto frame =
      host::TheHost().channel.Receive(host::kFrameBytesMax, kuafu::os::Deadline::Infinite());
  if (!frame.ok()) return host::Refuse(std::move(frame).error());
  host::TheHost().received = std::move(frame.value().fds);
  return host::Return(std::move(frame.value().bytes));
}
// -1 if there is none with that number.
KUAFU_EXPORT int32_t kuafu_host_take_fd(int32_t index) {
  auto& fds = host::TheHost().received;
  if (index < 0 || static_cast<size_t>(index) >= fds.size()) return -1;
  return fds[static_cast<size_t>(index)].Release();
}

KUAFU_EXPORT const char* kuafu_host_start(const char* options) {
  return host::Answer(host::StartSession(Parsed(options)));
}
// Forgets the session: for a process that has only tried everything once. No tensor may be left.
KUAFU_EXPORT void kuafu_host_forget(void) {
  auto& h = host::TheHost();
  host::UseDevice(nullptr);
  kuafu::hostabi::SetCurrent(nullptr);
  h.origins.reset();
  h.session.reset();
}
KUAFU_EXPORT const char* kuafu_host_sandbox(void) { return host::Answer(host::EnterTheSandbox()); }
// `sampling`: as hostabi::ReadCallSampling takes it.
KUAFU_EXPORT void kuafu_host_begin(const char* order_seed, const char* sampling) {
  const Json json = Parsed(sampling);
  const auto read = kuafu::hostabi::ReadCallSampling(&json);
  host::TheHost().session->Begin(std::strtoull(order_seed, nullptr, 10),
                                 read.ok() ? read.value() : kuafu::hostabi::CallSampling{});
  host::TheHost().origins->Begin();
}

// Not 0: the storage that starts there is on the device.
KUAFU_EXPORT int32_t kuafu_host_on_device(const void* storage) {
  const auto& memory = host::TheHost().session->memory();
  return memory.IdOf(reinterpret_cast<uint64_t>(storage)) != 0 ? 1 : 0;
}
// What findings call it.
KUAFU_EXPORT void kuafu_host_name(const void* storage, const char* name) {
  auto& memory = host::TheHost().session->memory();
  if (auto* a = memory.Get(memory.IdOf(reinterpret_cast<uint64_t>(storage)))) a->name = name;
}
// An operator of PyTorch wrote the storages `written` after it had read the others. `kind`: 'v' it
// wrote nothing itself (views, empty), 'r' constants (it creates), 'c' copies, 'o' anything else.
KUAFU_EXPORT void kuafu_host_operated(const char* name, int32_t kind, void* const* read,
                                      int32_t read_count, void* const* written,
                                      int32_t written_count) {
  if (kind == 'v' || host::TheHost().session->options().counts_only) return;
  auto& session = *host::TheHost().session;
  const std::vector<uint32_t> from = host::Ids(read, read_count);
  const std::vector<uint32_t> to = host::Ids(written, written_count);
  if (session.sampling().on) {
    for (const uint32_t source : from) {
      const auto* a = session.memory().Get(source);
      if (a->Known(0, a->bytes)) continue;
      if (to.empty()) session.NoteHostRead(reinterpret_cast<const void*>(a->base), a->bytes);
      for (const uint32_t id : to) {
        auto* target = session.memory().Get(id);
        target->SetKnown(0, target->bytes, false);
      }
    }
  }
  for (const uint32_t id : to) {
    const auto* a = session.memory().Get(id);
    session.memory().MarkInitialized(reinterpret_cast<const void*>(a->base), a->bytes);
    if (kind == 'r') host::TheHost().origins->Filled(id);
    if (kind != 'c') continue;
    for (const uint32_t source : from) host::TheHost().origins->Copied(id, source);
    if (from.empty()) host::TheHost().origins->Copied(id, 0);
  }
  if (kind == 'o') host::TheHost().origins->Operated(from, to, name);
}

KUAFU_EXPORT const char* kuafu_host_load(const char* job) {
  return host::Answer(host::Load(Parsed(job)));
}
KUAFU_EXPORT const char* kuafu_host_call(int32_t extension, int32_t function,
                                         const char* arguments) {
  return host::Answer(host::CallFunction(extension, function, arguments));
}
// For torch.from_dlpack: the whole storage of a result; takes over the reference.
KUAFU_EXPORT void* kuafu_host_export(uint64_t handle) {
  return host::Export(reinterpret_cast<KuafuTensor*>(handle));
}
KUAFU_EXPORT void kuafu_host_release(uint64_t handle) {
  kuafu_tensor_release(reinterpret_cast<KuafuTensor*>(handle));
}
KUAFU_EXPORT const char* kuafu_host_answer(const char* outcome) {
  try {
    return host::Answer(host::SendAnswer(Parsed(outcome)));
  } catch (const std::exception& e) {
    return host::Refuse({kuafu::Code::kInternal, e.what()});
  }
}
// Of a session with counts_only: what the device was asked to do since the last call.
// {"work": [["launch", n] | ["copy", bytes] | ["fill", bytes]], "blind", "library_call"}
KUAFU_EXPORT const char* kuafu_host_work(void) {
  return host::Return(kuafu::DumpJson(host::NewWork()));
}
// And the counters of its launches: the n-th belongs to ["launch", n].
KUAFU_EXPORT const char* kuafu_host_counters(void) {
  std::vector<kuafu::simt::LaunchCount> launches = host::TheHost().session->counting()->launches();
  for (auto& launch : launches) launch.lines.clear();
  return host::Return(kuafu::DumpJson(kuafu::simt::CountersToJson(launches)));
}
// For data that are no floating-point numbers.
KUAFU_EXPORT void kuafu_host_zero(const void* storage) {
  auto& memory = host::TheHost().session->memory();
  static_cast<void>(memory.Zero(memory.IdOf(reinterpret_cast<uint64_t>(storage))).ok());
}
KUAFU_EXPORT int32_t kuafu_host_stopped(void) { return host::TheHost().session->stopped() ? 1 : 0; }
