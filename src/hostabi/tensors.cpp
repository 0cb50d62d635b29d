// SPDX-License-Identifier: Apache-2.0
// Storages and the tensors over them. Every size is checked for overflow before memory is asked
// for.
#include "hostabi/tensors.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "hostabi/tensor_impl.h"

namespace kuafu::hostabi {
namespace {

constexpr TypeRow kTypes[] = {
    {KUAFU_UINT8, "u8", "uint8", 1},      {KUAFU_INT8, "i8", "int8", 1},
    {KUAFU_INT16, "i16", "int16", 2},     {KUAFU_INT32, "i32", "int32", 4},
    {KUAFU_INT64, "i64", "int64", 8},     {KUAFU_FLOAT16, "f16", "float16", 2},
    {KUAFU_FLOAT32, "f32", "float32", 4}, {KUAFU_FLOAT64, "f64", "float64", 8},
    {KUAFU_BOOL, "bool", "bool", 1},      {KUAFU_BFLOAT16, "bf16", "bfloat16", 2},
};
constexpr size_t kHostAlign = 64;
constexpr int64_t kTensorsMax = 1 << 16;  // live at once: a loop that never releases ends here

// The host has as much memory for tensors as the device.
Status AllocateOnHost(Session& session, Storage& storage, bool zero) {
  const uint64_t limit = session.memory().limit_bytes();
  uint64_t& used = session.tensors().host_bytes;
  void* block = nullptr;
  if (storage.bytes <= limit && used <= limit - storage.bytes)
    block = std::aligned_alloc(kHostAlign, (storage.bytes + kHostAlign - 1) & ~(kHostAlign - 1));
  if (block == nullptr) {
    return Error{Code::kExhausted, "making a tensor of " + std::to_string(storage.bytes) +
                                       " bytes on the CPU: " + std::to_string(used) + " of " +
                                       std::to_string(limit) + " bytes are in use"};
  }
  std::memset(block, zero ? 0 : simt::Memory::kPoisonByte, storage.bytes);
  storage.base = block;
  used += storage.bytes;
  return OkStatus();
}
// Takes part in no other error than that of a full device.
Result<std::shared_ptr<Storage>> MakeStorage(Session& session, uint64_t bytes, std::string name,
                                             StorageOptions options) {
  const bool zero = options.zero;
  auto storage = std::make_shared<Storage>(session);
  storage->host = options.place == Where::kHost;
  storage->bytes = bytes;
  if (bytes == 0) return storage;  // as in PyTorch: no element, no address
  if (storage->host) {
    KUAFU_TRY_STATUS(AllocateOnHost(session, *storage, zero));
    return storage;
  }
  KUAFU_TRY(storage->base, session.memory().Allocate(bytes, 256, std::move(name), zero));
  storage->id = session.memory().IdOf(reinterpret_cast<uint64_t>(storage->base));
  if (zero) session.NoteFilled(storage->base);
  return storage;
}

Result<KuafuTensor*> Adopt(Session& session, std::shared_ptr<Storage> storage, TensorLayout layout,
                           int64_t count) {
  auto& live = session.tensors().live;
  if (static_cast<int64_t>(live.size()) >= kTensorsMax) {
    return Error{Code::kExhausted, "making a tensor: " + std::to_string(kTensorsMax) +
                                       " tensors are alive; release those that are not needed"};
  }
  auto tensor = std::make_unique<KuafuTensor>();
  tensor->storage = std::move(storage);
  tensor->layout = std::move(layout);
  tensor->count = count;
  KuafuTensor* handle = tensor.get();
  live.emplace(handle, std::move(tensor));
  return handle;
}

Status CheckInside(const TensorLayout& layout, const Extent& extent, uint64_t storage_bytes) {
  if (static_cast<uint64_t>(extent.required) * static_cast<uint64_t>(ElementSize(layout.dtype)) <=
      storage_bytes) {
    return OkStatus();
  }
  return Error{Code::kInvalidInput,
               "viewing a storage of " + std::to_string(storage_bytes) + " bytes by sizes " +
                   ListText(layout.sizes) + ", strides " + ListText(layout.strides) +
                   " and offset " + std::to_string(layout.offset) + ": " +
                   std::to_string(extent.required) + " elements of " +
                   std::to_string(ElementSize(layout.dtype)) + " bytes would be needed"};
}

// What findings call a tensor.
std::string NameOf(const TensorLayout& layout) {
  return std::string("the ") + FindType(layout.dtype)->torch_name + " tensor " +
         ListText(layout.sizes);
}

}  // namespace

const TypeRow* FindType(int32_t dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}
int64_t ElementSize(int32_t dtype) { return FindType(dtype)->bytes; }

std::string ListText(std::span<const int64_t> values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  return text + "]";
}

std::vector<int64_t> RowMajor(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

bool IsRowMajor(const KuafuTensor& t) {
  int64_t expected = 1;
  for (size_t i = t.layout.sizes.size(); i-- > 0;) {
    if (t.layout.sizes[i] != 1 && t.layout.strides[i] != expected) return false;
    expected *= t.layout.sizes[i];
  }
  return true;
}

Result<Extent> Measure(const TensorLayout& layout) {
  const std::string what = "making a tensor of sizes " + ListText(layout.sizes);
  if (FindType(layout.dtype) == nullptr) {
    return Error{Code::kInvalidInput, what + ": type number " + std::to_string(layout.dtype) +
                                          " is none of PyTorch's that are known here"};
  }
  if (layout.sizes.size() > KUAFU_MAX_DIMS || layout.strides.size() != layout.sizes.size()) {
    return Error{Code::kInvalidInput, what + ": at most " + std::to_string(KUAFU_MAX_DIMS) +
                                          " dimensions, with a stride for each, are possible"};
  }
  Extent extent{.count = 1};
  // What count would be without sizes of 0: row-major strides are products of the others.
  int64_t step_max = 1;
  int64_t last = layout.offset;
  bool overflow = layout.offset < 0;
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    const int64_t size = layout.sizes[i], stride = layout.strides[i];
    if (size < 0 || stride < 0) {
      return Error{Code::kInvalidInput,
                   what + " and strides " + ListText(layout.strides) + ": neither may be negative"};
    }
    int64_t reach = 0;
    overflow |= __builtin_mul_overflow(std::max<int64_t>(size, 1), step_max, &step_max);
    if (!overflow) extent.count *= size;
    overflow |= size > 1 && (__builtin_mul_overflow(size - 1, stride, &reach) ||
                             __builtin_add_overflow(last, reach, &last));
  }
  int64_t bytes = 0;
  overflow |= __builtin_add_overflow(last, 1, &last) ||
              __builtin_mul_overflow(last, ElementSize(layout.dtype), &bytes);
  if (overflow) {
    return Error{Code::kInvalidInput, what + ", strides " + ListText(layout.strides) +
                                          " and offset " + std::to_string(layout.offset) +
                                          ": more than 2^63 bytes; use smaller sizes"};
  }
  extent.required = extent.count == 0 ? 0 : last;
  return extent;
}

Result<KuafuTensor*> NewTensor(Session& session, TensorLayout layout, StorageOptions options) {
  KUAFU_TRY(const Extent extent, Measure(layout));
  const int64_t bytes = extent.required * ElementSize(layout.dtype);
  KUAFU_TRY(auto storage,
            MakeStorage(session, static_cast<uint64_t>(bytes), NameOf(layout), options));
  return Adopt(session, std::move(storage), std::move(layout), extent.count);
}

Result<KuafuTensor*> Converted(Session& session, const KuafuTensor& t, int32_t dtype, Where place) {
  if (session.SkipsData(t.storage->bytes) && place == Where::kDevice) {
    KUAFU_TRY(KuafuTensor * copy,
              NewTensor(session, {dtype, t.layout.sizes, RowMajor(t.layout.sizes), 0}, {}));
    session.NoteCopied(copy->storage->base, t.storage->base);
    return copy;
  }
  KUAFU_TRY(const Snapshot snapshot, TakeSnapshot(session, t));
  KUAFU_TRY(
      KuafuTensor * copy,
      NewTensor(session, {dtype, t.layout.sizes, RowMajor(t.layout.sizes), 0}, {.place = place}));
  Write(session, *copy, snapshot, t.layout.dtype);
  session.NoteCopied(copy->storage->base, t.storage->base);
  return copy;
}

Status CheckWritable(const KuafuTensor& t) {
  for (size_t i = 0; i < t.layout.sizes.size(); ++i) {
    if (t.layout.sizes[i] > 1 && t.layout.strides[i] == 0) {
      return Error{Code::kInvalidInput,
                   "writing to a tensor of sizes " + ListText(t.layout.sizes) + " and strides " +
                       ListText(t.layout.strides) +
                       ": several elements are one memory location; write to a clone()"};
    }
  }
  return OkStatus();
}

simt::Allocation* AllocationOf(Session& session, const KuafuTensor& t) {
  return session.memory().Get(t.storage->id);
}

TensorState::TensorState() = default;
TensorState::~TensorState() = default;

Storage::~Storage() {
  if (!owned) return;
  if (host) {
    std::free(base);
    if (base != nullptr) session.tensors().host_bytes -= bytes;
    return;
  }
  // The candidate may have passed the address to cudaFree itself.
  const simt::Allocation* a = session.memory().Get(id);
  if (a != nullptr && a->live) session.FreeDevice(base);
}

std::optional<int32_t> TensorTypeOf(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (name == row.name) return row.dtype;
  }
  return std::nullopt;
}

std::string_view TensorTypeName(int32_t dtype) {
  const TypeRow* row = FindType(dtype);
  return row == nullptr ? "unknown" : row->name;
}

Result<KuafuTensor*> MakeTensor(Session& session, const TensorLayout& layout,
                                std::span<const uint8_t> bytes, const std::string& name) {
  KUAFU_TRY(const Extent extent, Measure(layout));
  KUAFU_TRY_STATUS(CheckInside(layout, extent, bytes.size()));
  KUAFU_TRY(auto storage, MakeStorage(session, bytes.size(), name, {.zero = true}));
  if (!bytes.empty()) std::memcpy(storage->base, bytes.data(), bytes.size());
  return Adopt(session, std::move(storage), layout, extent.count);
}

Result<KuafuTensor*> WrapTensor(Session& session, const TensorLayout& layout, void* base,
                                uint64_t bytes, Where place) {
  KUAFU_TRY(const Extent extent, Measure(layout));
  if (place == Where::kHost) {
    auto storage = std::make_shared<Storage>(session);
    storage->owned = false;
    storage->host = true;
    storage->base = base;
    storage->bytes = base == nullptr ? 0 : bytes;
    KUAFU_TRY_STATUS(CheckInside(layout, extent, storage->bytes));
    return Adopt(session, std::move(storage), layout, extent.count);
  }
  const uint32_t id = session.memory().IdOf(reinterpret_cast<uint64_t>(base));
  const simt::Allocation* a = session.memory().Get(id);
  if (extent.count > 0 && (a == nullptr || !a->live))
    return Error{Code::kInvalidInput, "passing a tensor: its memory is not on the device"};
  auto storage = std::make_shared<Storage>(session);
  storage->owned = false;
  storage->base = base;
  storage->id = id;
  storage->bytes = a == nullptr ? 0 : std::min<uint64_t>(bytes, a->bytes);
  KUAFU_TRY_STATUS(CheckInside(layout, extent, storage->bytes));
  return Adopt(session, std::move(storage), layout, extent.count);
}

Result<KuafuTensor*> ShareTensor(Session& session, KuafuTensor* other, const TensorLayout& layout) {
  KUAFU_TRY(const Extent extent, Measure(layout));
  KUAFU_TRY_STATUS(CheckInside(layout, extent, other->storage->bytes));
  return Adopt(session, other->storage, layout, extent.count);
}

bool IsTensor(Session& session, const KuafuTensor* tensor) {
  if (!session.tensors().live.contains(tensor)) return false;
  const simt::Allocation* a = AllocationOf(session, *tensor);
  return a == nullptr || a->live;
}

TensorLayout LayoutOf(const KuafuTensor* tensor) { return tensor->layout; }

Where WhereIs(const KuafuTensor* tensor) {
  return tensor->storage->host ? Where::kHost : Where::kDevice;
}

std::string HostTensorAt(Session& session, uint64_t address) {
  // The name must not depend on the order of a hash table: the largest layout has it.
  const KuafuTensor* found = nullptr;
  std::string name;
  for (const auto& [handle, tensor] : session.tensors().live) {
    const Storage& storage = *tensor->storage;
    const auto base = reinterpret_cast<uint64_t>(storage.base);
    if (!storage.host || address - base >= storage.bytes) continue;
    const std::string own = NameOf(tensor->layout);
    if (found != nullptr &&
        (found->count > tensor->count || (found->count == tensor->count && name <= own)))
      continue;
    found = handle;
    name = own;
  }
  return name;
}

int64_t References(const KuafuTensor* tensor) { return tensor->references; }

uint64_t ElementCount(const KuafuTensor* tensor) { return static_cast<uint64_t>(tensor->count); }

uint64_t ElementBytes(const KuafuTensor* tensor) {
  uint64_t bytes = 0;
  const auto size = static_cast<uint64_t>(ElementSize(tensor->layout.dtype));
  // An expanded tensor has more elements than its storage, possibly more than can be counted.
  return __builtin_mul_overflow(static_cast<uint64_t>(tensor->count), size, &bytes) ? UINT64_MAX
                                                                                    : bytes;
}

uint32_t AllocationId(const KuafuTensor* tensor) { return tensor->storage->id; }

std::span<const uint8_t> StorageBytes(const KuafuTensor* tensor) {
  return {static_cast<const uint8_t*>(tensor->storage->base), tensor->storage->bytes};
}

}  // namespace kuafu::hostabi

uint8_t* KuafuTensor::first() const {
  if (storage->base == nullptr || count == 0) return nullptr;
  return static_cast<uint8_t*>(storage->base) +
         layout.offset * kuafu::hostabi::ElementSize(layout.dtype);
}
