// SPDX-License-Identifier: Apache-2.0
// The CUDA and MUSA runtime API as exported C symbols, over the current session. Signatures follow
// the vendors' public headers; types are spelled out here because the dialect headers are for
// candidates only. Each musa* symbol is the cuda* function under another name: the two APIs differ
// in spelling alone.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "hostabi/api_macros.h"
#include "hostabi/session.h"
#include "hostabi/streams.h"

namespace kuafu::hostabi {

// Tells managed memory from other device memory in the allocation table.
constexpr char kManagedName[] = "cudaMallocManaged";

int Fail(int error) {
  if (error != kSuccess) Current().last_error = error;
  return error;
}

namespace {
bool OnDevice(const void* p) { return Current().memory().IdOf(reinterpret_cast<uint64_t>(p)) != 0; }

// Takes back MarkInitialized for the bytes whose source nobody has written.
void CopyNeverWritten(void* dst, const void* src, size_t bytes) {
  auto& memory = Current().memory();
  if (!OnDevice(src) || !OnDevice(dst) || memory.BytesNeverWritten(src, bytes) == 0) return;
  const simt::Allocation& from = *memory.Get(memory.IdOf(reinterpret_cast<uint64_t>(src)));
  simt::Allocation& to = *memory.Get(memory.IdOf(reinterpret_cast<uint64_t>(dst)));
  if (!to.tracked) {
    to.tracked = true;
    to.valid.assign((to.bytes + 63) / 64, ~uint64_t{0});
  }
  const size_t from_at = reinterpret_cast<uint64_t>(src) - from.base;
  const size_t to_at = reinterpret_cast<uint64_t>(dst) - to.base;
  if (&from == &to) return;  // the bits would be read after they were set
  for (size_t i = 0; i < bytes; ++i) {
    if (!from.Valid(from_at + i, 1)) to.SetValid(to_at + i, 1, false);
  }
}
}  // namespace

// A host-side copy that leaves its device allocation is what cudaErrorInvalidValue is for; on
// hardware it would fail or corrupt a neighbour, so it is also recorded.
bool InsideAllocation(const void* p, size_t bytes) {
  auto& memory = Current().memory();
  const uint32_t id = memory.IdOf(reinterpret_cast<uint64_t>(p));
  if (id == 0) return true;  // host memory
  const simt::Allocation* a = memory.Get(id);
  const uint64_t address = reinterpret_cast<uint64_t>(p);
  if (a->live && address >= a->base && bytes <= a->bytes && address - a->base <= a->bytes - bytes)
    return true;
  Current().AddFinding(
      {.kind = a->live ? simt::Finding::Kind::kOob : simt::Finding::Kind::kUseAfterFree,
       .message = "a copy or fill by the host of " + std::to_string(bytes) + " bytes leaves " +
                  a->name + " of " + std::to_string(a->bytes) + " bytes",
       .allocation = a->name});
  return false;
}

namespace {
// The device bytes that a copy or fill in a stream writes, for undoing it.
Operation Begin(Stream& stream, void* dst, const void* src, size_t bytes) {
  auto& streams = Current().streams();
  auto& memory = Current().memory();
  Operation now = streams.Issue(stream);
  if (src != nullptr && !OnDevice(src)) streams.DeliverFor(now, src, bytes);
  if (!streams.active()) return now;
  if (src != nullptr && OnDevice(src)) {
    streams.CheckRead(now, src, bytes);
    const uint32_t id = memory.IdOf(reinterpret_cast<uint64_t>(src));
    now.reads.push_back(
        streams.Take(id, reinterpret_cast<uint64_t>(src) - memory.Get(id)->base, bytes));
  }
  if (OnDevice(dst)) {
    const uint32_t id = memory.IdOf(reinterpret_cast<uint64_t>(dst));
    now.undo.push_back(
        streams.Take(id, reinterpret_cast<uint64_t>(dst) - memory.Get(id)->base, bytes));
    streams.CheckWrite(now, now.undo.back());
  }
  return now;
}

int CheckCopy(const void* dst, const void* src, size_t bytes) {
  if (dst == nullptr || src == nullptr) return Fail(kInvalidValue);
  if (!InsideAllocation(dst, bytes) || !InsideAllocation(src, bytes)) return Fail(kInvalidValue);
  return kSuccess;
}

void Transfer(void* dst, const void* src, size_t bytes) {
  if (!Current().SkipsData(bytes)) std::memmove(dst, src, bytes);
  if (OnDevice(dst)) Current().memory().MarkInitialized(dst, bytes);
  CopyNeverWritten(dst, src, bytes);
  Current().NoteCopied(dst, src, bytes);
}
}  // namespace

int Copy(void* dst, const void* src, size_t bytes) {
  if (Current().stopped()) return Fail(Current().stop_error());
  if (bytes == 0) return kSuccess;
  if (const int error = CheckCopy(dst, src, bytes); error != kSuccess) return error;
  auto& streams = Current().streams();
  Stream& queue = *streams.Find(nullptr);
  Operation now = Begin(queue, dst, src, bytes);
  // Between device addresses even cudaMemcpy returns before it is done.
  if (!OnDevice(dst) || !OnDevice(src)) streams.SynchronizeStream(queue);
  Transfer(dst, src, bytes);
  streams.Add(std::move(now));
  if (!OnDevice(dst) || !OnDevice(src)) streams.SynchronizeStream(queue);
  return kSuccess;
}

int CopyInStream(void* dst, const void* src, size_t bytes, void* stream) {
  if (Current().stopped()) return Fail(Current().stop_error());
  if (bytes == 0) return kSuccess;
  if (const int error = CheckCopy(dst, src, bytes); error != kSuccess) return error;
  auto& streams = Current().streams();
  Stream* queue = streams.Find(stream);
  if (queue == nullptr) return Fail(kInvalidResourceHandle);
  Operation now = Begin(*queue, dst, src, bytes);
  if (OnDevice(src) && !OnDevice(dst)) {
    if (streams.IsPinned(dst, bytes)) {
      Current().NoteHostRead(src, bytes);
      streams.DeliverLater(now, dst, src, bytes);
      streams.Add(std::move(now));
      return kSuccess;
    }
    // To pageable memory the call returns when the copy is done.
    streams.SynchronizeStream(*queue);
  }
  Transfer(dst, src, bytes);
  streams.Add(std::move(now));
  return kSuccess;
}

// What `kind` calls device memory has to be some. Managed and pinned memory are on both sides.
int CheckDirection(const void* dst, const void* src, int kind) {
  if (kind < 0 || kind > 4) return Fail(kInvalidMemcpyDirection);
  if (dst == nullptr || src == nullptr || kind == 4) return kSuccess;
  const bool to_device = kind == 1 || kind == 3, from_device = kind == 2 || kind == 3;
  const auto fits = [](const void* p, bool device) {
    const uint32_t id = Current().memory().IdOf(reinterpret_cast<uint64_t>(p));
    if (id == 0) return !device || Current().streams().IsPinned(p, 1);
    return device || Current().memory().Get(id)->name == kManagedName;
  };
  return fits(dst, to_device) && fits(src, from_device) ? kSuccess : Fail(kInvalidValue);
}

int Fill(void* dst, int value, size_t bytes, void* stream) {
  if (Current().stopped()) return Fail(Current().stop_error());
  if (bytes == 0) return kSuccess;
  if (!OnDevice(dst) || !InsideAllocation(dst, bytes)) return Fail(kInvalidValue);
  auto& streams = Current().streams();
  Stream* queue = streams.Find(stream);
  if (queue == nullptr) return Fail(kInvalidResourceHandle);
  Operation now = Begin(*queue, dst, nullptr, bytes);
  if (!Current().SkipsData(bytes)) std::memset(dst, value, bytes);
  Current().memory().MarkInitialized(dst, bytes);
  Current().NoteFilled(dst, bytes);
  streams.Add(std::move(now));
  return kSuccess;
}

int Allocate(void** out, size_t bytes, const char* name) {
  if (out == nullptr) return Fail(kInvalidValue);
  auto result = Current().memory().Allocate(bytes == 0 ? 1 : bytes, 256, name, false);
  if (!result.ok()) {
    *out = nullptr;
    return Fail(kMemoryAllocation);
  }
  *out = result.value();
  return kSuccess;
}

}  // namespace kuafu::hostabi

namespace {

using kuafu::hostabi::Allocate;
using kuafu::hostabi::Copy;
using kuafu::hostabi::Current;
using kuafu::hostabi::Fail;
namespace abi = kuafu::hostabi;

struct Configuration {
  kuafu::simt::Dim3 grid, block;
  size_t shared_bytes = 0;
  void* stream = nullptr;
};
// <<<>>> nests only through default arguments that launch; a short stack is plenty.
constexpr size_t kConfigurationDepthMax = 16;
std::vector<Configuration>& Configurations() {
  static std::vector<Configuration> stack;
  return stack;
}

abi::Streams& Queues() { return Current().streams(); }
// nullptr, with the error set, for a handle that is none.
abi::Stream* Queue(void* handle) {
  abi::Stream* stream = Queues().Find(handle);
  if (stream == nullptr) Fail(abi::kInvalidResourceHandle);
  return stream;
}
using abi::Event;

}  // namespace

using kuafu::simt::Dim3;

KUAFU_EXPORT unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared_bytes,
                                                  void* stream) {
  if (Configurations().size() >= kConfigurationDepthMax) return abi::kInvalidConfiguration;
  Configurations().push_back({grid, block, shared_bytes, stream});
  return 0;
}
KUAFU_EXPORT int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared_bytes,
                                            void** stream) {
  if (Configurations().empty()) return abi::kInvalidConfiguration;
  const Configuration c = Configurations().back();
  Configurations().pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared_bytes = c.shared_bytes;
  *stream = c.stream;
  return 0;
}

KUAFU_API(int, LaunchKernel,
          (const void* stub, Dim3 grid, Dim3 block, void** args, size_t shared_bytes,
           void* stream)) {
  return Current().Launch(stub, grid, block, args, shared_bytes, false, stream);
}
KUAFU_API(int, LaunchCooperativeKernel,
          (const void* stub, Dim3 grid, Dim3 block, void** args, size_t shared_bytes,
           void* stream)) {
  return Current().Launch(stub, grid, block, args, shared_bytes, true, stream);
}
KUAFU_API(int, FuncSetAttribute, (const void* stub, int attribute, int value)) {
  constexpr int kMaxDynamicSharedMemorySize = 8;
  return attribute == kMaxDynamicSharedMemorySize ? Fail(Current().SetSharedOptIn(stub, value))
                                                  : abi::kSuccess;
}
KUAFU_API(int, FuncSetCacheConfig, (const void*, int)) { return abi::kSuccess; }

KUAFU_API(int, Malloc, (void** out, size_t bytes)) { return Allocate(out, bytes, "cudaMalloc"); }
KUAFU_API(int, MallocAsync, (void** out, size_t bytes, void*)) {
  return Allocate(out, bytes, "cudaMallocAsync");
}
KUAFU_API(int, MallocManaged, (void** out, size_t bytes, unsigned)) {
  const int error = Allocate(out, bytes, abi::kManagedName);
  // What host code stores there is not seen.
  if (error == abi::kSuccess) Current().memory().MarkInitialized(*out, bytes == 0 ? 1 : bytes);
  return error;
}
KUAFU_API(int, Free, (void* p)) {
  if (p == nullptr) return abi::kSuccess;
  Queues().SynchronizeAll();
  return Current().FreeDevice(p) ? abi::kSuccess : Fail(abi::kInvalidValue);
}
KUAFU_API(int, FreeAsync, (void* p, void*)) {
  if (p == nullptr) return abi::kSuccess;
  return Current().FreeDevice(p) ? abi::kSuccess : Fail(abi::kInvalidValue);
}
KUAFU_API(int, MallocHost, (void** out, size_t bytes)) {
  if (bytes > Current().memory().limit_bytes()) return Fail(abi::kMemoryAllocation);
  *out = std::malloc(bytes == 0 ? 1 : bytes);
  if (*out == nullptr) return Fail(abi::kMemoryAllocation);
  Queues().Pin(*out, bytes);
  return abi::kSuccess;
}
KUAFU_API(int, HostAlloc, (void** out, size_t bytes, unsigned)) {
  return cudaMallocHost(out, bytes);
}
KUAFU_API(int, FreeHost, (void* p)) {
  if (p == nullptr) return abi::kSuccess;
  Queues().SynchronizeAll();
  if (!Queues().Unpin(p)) return Fail(abi::kInvalidValue);
  std::free(p);
  return abi::kSuccess;
}
KUAFU_API(int, Memcpy, (void* dst, const void* src, size_t bytes, int kind)) {
  const int error = bytes == 0 ? abi::kSuccess : abi::CheckDirection(dst, src, kind);
  return error == abi::kSuccess ? Copy(dst, src, bytes) : error;
}
KUAFU_API(int, MemcpyAsync, (void* dst, const void* src, size_t bytes, int kind, void* stream)) {
  const int error = bytes == 0 ? abi::kSuccess : abi::CheckDirection(dst, src, kind);
  return error == abi::kSuccess ? abi::CopyInStream(dst, src, bytes, stream) : error;
}
KUAFU_API(int, Memset, (void* dst, int value, size_t bytes)) {
  return abi::Fill(dst, value, bytes);
}
KUAFU_API(int, MemsetAsync, (void* dst, int value, size_t bytes, void* stream)) {
  return abi::Fill(dst, value, bytes, stream);
}
KUAFU_API(int, MemGetInfo, (size_t* free_bytes, size_t* total_bytes)) {
  *total_bytes = Current().memory().limit_bytes();
  *free_bytes = *total_bytes - Current().memory().used_bytes();
  return abi::kSuccess;
}
KUAFU_API(int, MemcpyToSymbol,
          (const void* symbol, const void* src, size_t bytes, size_t offset, int)) {
  size_t size = 0;
  auto* base = static_cast<uint8_t*>(Current().SymbolAddress(symbol, &size));
  if (base == nullptr) return Fail(abi::kInvalidSymbol);
  if (offset > size || bytes > size - offset) return Fail(abi::kInvalidValue);
  return Copy(base + offset, src, bytes);
}
KUAFU_API(int, MemcpyFromSymbol,
          (void* dst, const void* symbol, size_t bytes, size_t offset, int)) {
  size_t size = 0;
  auto* base = static_cast<uint8_t*>(Current().SymbolAddress(symbol, &size));
  if (base == nullptr) return Fail(abi::kInvalidSymbol);
  if (offset > size || bytes > size - offset) return Fail(abi::kInvalidValue);
  return Copy(dst, base + offset, bytes);
}
KUAFU_API(int, MemcpyToSymbolAsync,
          (const void* symbol, const void* src, size_t bytes, size_t offset, int, void* stream)) {
  size_t size = 0;
  auto* base = static_cast<uint8_t*>(Current().SymbolAddress(symbol, &size));
  if (base == nullptr) return Fail(abi::kInvalidSymbol);
  if (offset > size || bytes > size - offset) return Fail(abi::kInvalidValue);
  return abi::CopyInStream(base + offset, src, bytes, stream);
}
KUAFU_API(int, MemcpyFromSymbolAsync,
          (void* dst, const void* symbol, size_t bytes, size_t offset, int, void* stream)) {
  size_t size = 0;
  auto* base = static_cast<uint8_t*>(Current().SymbolAddress(symbol, &size));
  if (base == nullptr) return Fail(abi::kInvalidSymbol);
  if (offset > size || bytes > size - offset) return Fail(abi::kInvalidValue);
  return abi::CopyInStream(dst, base + offset, bytes, stream);
}
// A kernel that is given such an address reports it: mapped host memory does not exist here.
KUAFU_API(int, HostGetDevicePointer, (void** device, void*, unsigned)) {
  if (device != nullptr) *device = nullptr;
  return Fail(abi::kNotSupported);
}
KUAFU_API(int, GetSymbolAddress, (void** out, const void* symbol)) {
  *out = Current().SymbolAddress(symbol, nullptr);
  return *out == nullptr ? Fail(abi::kInvalidSymbol) : abi::kSuccess;
}

KUAFU_API(int, DeviceSynchronize, ()) {
  Queues().SynchronizeAll();
  return Fail(Current().stop_error());
}
KUAFU_API(int, GetLastError, ()) {
  const int error = Current().last_error;
  Current().last_error = Current().stop_error();
  return error;
}
KUAFU_API(int, PeekAtLastError, ()) { return Current().last_error; }
KUAFU_API(const char*, GetErrorString, (int error)) {
  switch (error) {
#define KUAFU_ERROR(number, name, text) \
  case number: return text;
#include "kuafu/errors.def"
#undef KUAFU_ERROR
    default: return "unrecognized error code";
  }
}
KUAFU_API(const char*, GetErrorName, (int error)) {
  const bool musa = Current().options().profile->musa;
  switch (error) {
#define KUAFU_ERROR(number, name, text) \
  case number: return musa ? "musa" #name : "cuda" #name;
#include "kuafu/errors.def"
#undef KUAFU_ERROR
    default: return "unrecognized error code";
  }
}

KUAFU_API(int, GetDevice, (int* device)) {
  *device = 0;
  return abi::kSuccess;
}
KUAFU_API(int, SetDevice, (int device)) {
  return device == 0 ? abi::kSuccess : Fail(abi::kInvalidDevice);
}
KUAFU_API(int, GetDeviceCount, (int* count)) {
  *count = 1;
  return abi::kSuccess;
}
KUAFU_API(int, DeviceGetAttribute, (int* value, int attribute, int device)) {
  constexpr int kAttributesMax = 147;  // numbers that the headers of CUDA 12.4 give a name
  if (value == nullptr) return Fail(abi::kInvalidValue);
  if (device != 0) return Fail(abi::kInvalidDevice);
  const auto& p = *Current().options().profile;
  int v = kuafu::device::kUnknown;
  switch (attribute) {  // numbers of cudaDeviceAttr
    case 1: v = p.threads_per_block_max; break;
    case 2:
    case 3: v = 1024; break;
    case 4: v = 64; break;
    case 5: v = 0x7fffffff; break;
    case 6:
    case 7: v = 65535; break;
    case 8: v = p.shared_kib_per_block * 1024; break;
    case 9: v = abi::kConstantBytes; break;
    case 10: v = static_cast<int>(Current().options().warp_width); break;
    case 11: v = INT32_MAX; break;  // pitch
    case 12: v = p.registers_per_sm; break;
    case 13: v = p.clock_mhz == kuafu::device::kUnknown ? v : p.clock_mhz * 1000; break;
    case 16: v = p.sm_count; break;
    case 18:                // integrated
    case 19: v = 0; break;  // can map host memory
    case 31: v = 1; break;  // concurrent kernels
    case 38: v = p.l2_mib == kuafu::device::kUnknown ? v : p.l2_mib << 20; break;
    case 39: v = p.threads_per_sm_max; break;
    case 75: v = static_cast<int>(p.arch / 100); break;
    case 76: v = static_cast<int>(p.arch % 100 / 10); break;
    case 81: v = p.shared_kib_per_sm * 1024; break;
    case 82: v = p.registers_per_sm; break;
    case 83: v = 1; break;  // managed memory
    case 95: v = 1; break;  // cooperative launch
    case 97: v = p.shared_kib_per_block_opt_in * 1024; break;
    case 106: v = p.blocks_per_sm_max; break;
    default:
      if (attribute <= 0 || attribute > kAttributesMax) return Fail(abi::kInvalidValue);
  }
  if (v < 0) return Fail(abi::kNotSupported);
  *value = v;
  return abi::kSuccess;
}
KUAFU_API(int, StreamCreateWithFlags, (void** stream, unsigned flags)) {
  constexpr unsigned kNonBlocking = 1;
  if (stream == nullptr || flags > kNonBlocking) return Fail(abi::kInvalidValue);
  *stream = Queues().Create(flags != kNonBlocking);
  return *stream == nullptr ? Fail(abi::kMemoryAllocation) : abi::kSuccess;
}
KUAFU_API(int, StreamCreate, (void** stream)) { return cudaStreamCreateWithFlags(stream, 0); }
KUAFU_API(int, StreamCreateWithPriority, (void** stream, unsigned flags, int)) {
  return cudaStreamCreateWithFlags(stream, flags);
}
KUAFU_API(int, StreamDestroy, (void* stream)) {
  return Queues().Destroy(stream) ? abi::kSuccess : Fail(abi::kInvalidResourceHandle);
}
KUAFU_API(int, StreamSynchronize, (void* stream)) {
  abi::Stream* queue = Queue(stream);
  if (queue == nullptr) return abi::kInvalidResourceHandle;
  Queues().SynchronizeStream(*queue);
  return Fail(Current().stop_error());
}
// The answer is that all is done, so from here on it is.
KUAFU_API(int, StreamQuery, (void* stream)) { return cudaStreamSynchronize(stream); }
KUAFU_API(int, StreamWaitEvent, (void* stream, void* event, unsigned)) {
  abi::Stream* queue = Queue(stream);
  if (queue == nullptr || event == nullptr) return Fail(abi::kInvalidResourceHandle);
  Queues().Wait(*queue, *static_cast<Event*>(event));
  return abi::kSuccess;
}
KUAFU_API(int, LaunchHostFunc, (void* stream, void (*function)(void*), void* data)) {
  if (function == nullptr) return Fail(abi::kInvalidValue);
  // It runs when the stream gets there; running it now means waiting for the stream.
  const int error = cudaStreamSynchronize(stream);
  if (error != abi::kSuccess) return error;
  function(data);
  return abi::kSuccess;
}
KUAFU_API(int, EventCreateWithFlags, (void** event, unsigned flags)) {
  constexpr unsigned kDisableTiming = 2, kAll = 7;  // blocking sync, disable timing, interprocess
  if (event == nullptr || flags > kAll) return Fail(abi::kInvalidValue);
  auto made = std::make_unique<Event>();
  made->timed = (flags & kDisableTiming) == 0;
  *event = made.release();
  return abi::kSuccess;
}
KUAFU_API(int, EventCreate, (void** event)) { return cudaEventCreateWithFlags(event, 0); }
KUAFU_API(int, EventDestroy, (void* event)) {
  delete static_cast<Event*>(event);
  return abi::kSuccess;
}
KUAFU_API(int, EventRecord, (void* event, void* stream)) {
  abi::Stream* queue = Queue(stream);
  if (queue == nullptr || event == nullptr) return Fail(abi::kInvalidResourceHandle);
  static_cast<Event*>(event)->at = Current().counters.lane_instructions;
  static_cast<Event*>(event)->recorded = true;
  Queues().Record(*static_cast<Event*>(event), *queue);
  return abi::kSuccess;
}
KUAFU_API(int, EventSynchronize, (void* event)) {
  if (event == nullptr) return Fail(abi::kInvalidResourceHandle);
  Queues().SynchronizeEvent(*static_cast<Event*>(event));
  return Fail(Current().stop_error());
}
KUAFU_API(int, EventQuery, (void* event)) { return cudaEventSynchronize(event); }
// Not a time: lane instructions in millions. A candidate must not learn anything real from it.
KUAFU_API(int, EventElapsedTime, (float* ms, void* start, void* end)) {
  if (ms == nullptr || start == nullptr || end == nullptr) return Fail(abi::kInvalidValue);
  const Event &from = *static_cast<Event*>(start), &to = *static_cast<Event*>(end);
  if (!from.timed || !to.timed || !from.recorded || !to.recorded)
    return Fail(abi::kInvalidResourceHandle);
  *ms = static_cast<float>(static_cast<int64_t>(to.at - from.at)) * 1e-6f;
  return abi::kSuccess;
}
