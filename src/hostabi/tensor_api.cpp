// SPDX-License-Identifier: Apache-2.0
// The tensor functions that a candidate's host code calls (kuafu/tensor_abi.h) and their C++ side
// (tensors.h). A storage is one device allocation with red zones, or a block of the host's memory;
// tensors are counted layouts over it. Copies made by the host carry along which bytes were ever
// written, so that a missing write is still seen after contiguous() or copy_(); of memory on the
// host nobody knows, so it counts as written.
//
// Handles come from foreign code: each is looked up before it is used, and every size is checked
// for overflow before memory is asked for.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "hostabi/tensor_state.h"
#include "hostabi/tensors.h"
#include "tensor/tensor.h"

using kuafu::hostabi::Current;
using kuafu::hostabi::Session;
using kuafu::hostabi::Storage;
using kuafu::hostabi::TensorLayout;
using kuafu::hostabi::Where;

struct KuafuTensor {
  std::shared_ptr<Storage> storage;  // owned by the tensors over it
  TensorLayout layout;
  int64_t count = 0;
  int64_t references = 1;

  uint8_t* first() const;  // nullptr without elements: the offset may lie outside the storage
};

namespace kuafu::hostabi {
namespace {

struct TypeRow {
  int32_t dtype;
  const char* name;
  const char* torch_name;
  int64_t bytes;
};
constexpr TypeRow kTypes[] = {
    {KUAFU_UINT8, "u8", "uint8", 1},      {KUAFU_INT8, "i8", "int8", 1},
    {KUAFU_INT16, "i16", "int16", 2},     {KUAFU_INT32, "i32", "int32", 4},
    {KUAFU_INT64, "i64", "int64", 8},     {KUAFU_FLOAT16, "f16", "float16", 2},
    {KUAFU_FLOAT32, "f32", "float32", 4}, {KUAFU_FLOAT64, "f64", "float64", 8},
    {KUAFU_BOOL, "bool", "bool", 1},      {KUAFU_BFLOAT16, "bf16", "bfloat16", 2},
};
constexpr size_t kHostAlign = 64;
constexpr int64_t kTensorsMax = 1 << 16;  // live at once: a loop that never releases ends here

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

struct Extent {
  int64_t count = 0;     // elements
  int64_t required = 0;  // elements the storage must have, offset included
};
// Validates type, sizes, strides and offset.
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

struct StorageOptions {
  bool zero = false;
  Where place = Where::kDevice;
};
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

Result<KuafuTensor*> NewTensor(Session& session, TensorLayout layout, StorageOptions options) {
  KUAFU_TRY(const Extent extent, Measure(layout));
  const int64_t bytes = extent.required * ElementSize(layout.dtype);
  KUAFU_TRY(auto storage,
            MakeStorage(session, static_cast<uint64_t>(bytes), NameOf(layout), options));
  return Adopt(session, std::move(storage), std::move(layout), extent.count);
}

// Walks the elements of a layout in row-major order, giving the element's offset in the storage.
template <class Visit>
void ForEach(const TensorLayout& layout, int64_t count, Visit visit) {
  int64_t index[KUAFU_MAX_DIMS] = {};
  int64_t at = layout.offset;
  const size_t dims = layout.sizes.size();
  for (int64_t i = 0; i < count; ++i) {
    visit(i, at);
    for (size_t d = dims; d-- > 0;) {
      // Only steps between elements that there are: a dimension of one may have any stride.
      if (++index[d] < layout.sizes[d]) {
        at += layout.strides[d];
        break;
      }
      at -= layout.strides[d] * (layout.sizes[d] - 1);
      index[d] = 0;
    }
  }
}

bool IsRowMajor(const KuafuTensor& t) {
  int64_t expected = 1;
  for (size_t i = t.layout.sizes.size(); i-- > 0;) {
    if (t.layout.sizes[i] != 1 && t.layout.strides[i] != expected) return false;
    expected *= t.layout.sizes[i];
  }
  return true;
}

// An element as a number: integers exactly, floats as double.
struct Number {
  bool floating = false;
  double real = 0;
  int64_t integer = 0;
};

template <class T>
T LoadAs(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
Number Load(int32_t dtype, const uint8_t* p) {
  const auto integer = [](int64_t v) { return Number{false, static_cast<double>(v), v}; };
  const auto real = [](double v) { return Number{true, v, 0}; };
  switch (dtype) {
    case KUAFU_UINT8: return integer(*p);
    case KUAFU_BOOL: return integer(*p != 0);
    case KUAFU_INT8: return integer(LoadAs<int8_t>(p));
    case KUAFU_INT16: return integer(LoadAs<int16_t>(p));
    case KUAFU_INT32: return integer(LoadAs<int32_t>(p));
    case KUAFU_INT64: return integer(LoadAs<int64_t>(p));
    case KUAFU_FLOAT16: return real(tensor::HalfToFloat(LoadAs<uint16_t>(p)));
    case KUAFU_BFLOAT16: return real(tensor::BFloatToFloat(LoadAs<uint16_t>(p)));
    case KUAFU_FLOAT32: return real(LoadAs<float>(p));
    default: return real(LoadAs<double>(p));
  }
}

// Truncates; what does not fit becomes the nearest value that does, NaN becomes 0.
int64_t Truncate(double v) {
  if (std::isnan(v)) return 0;
  if (v >= 9223372036854775808.0) return INT64_MAX;
  if (v <= -9223372036854775808.0) return INT64_MIN;
  return static_cast<int64_t>(v);
}
template <class T>
void StoreAs(uint8_t* p, T v) {
  std::memcpy(p, &v, sizeof v);
}
void Store(int32_t dtype, uint8_t* p, const Number& n) {
  const int64_t integer = n.floating ? Truncate(n.real) : n.integer;
  // From the integer itself: by way of double it would be rounded twice.
  const float narrow = n.floating ? static_cast<float>(n.real) : static_cast<float>(n.integer);
  switch (dtype) {
    case KUAFU_UINT8: StoreAs(p, static_cast<uint8_t>(integer)); return;
    case KUAFU_BOOL:
      StoreAs(p, static_cast<uint8_t>(n.floating ? n.real != 0 : integer != 0));
      return;
    case KUAFU_INT8: StoreAs(p, static_cast<int8_t>(integer)); return;
    case KUAFU_INT16: StoreAs(p, static_cast<int16_t>(integer)); return;
    case KUAFU_INT32: StoreAs(p, static_cast<int32_t>(integer)); return;
    case KUAFU_INT64: StoreAs(p, integer); return;
    case KUAFU_FLOAT16: StoreAs(p, tensor::FloatToHalf(narrow)); return;
    case KUAFU_BFLOAT16: StoreAs(p, tensor::FloatToBFloat(narrow)); return;
    case KUAFU_FLOAT32: StoreAs(p, narrow); return;
    default: StoreAs(p, n.real); return;
  }
}

// The elements of a tensor in row-major order, with one flag per byte if some were never written.
struct Snapshot {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> valid;  // empty = all
};

simt::Allocation* AllocationOf(Session& session, const KuafuTensor& t) {
  return session.memory().Get(t.storage->id);
}

// `out` holds the elements; `valid`, if not empty, one flag per byte.
void CopyOut(Session& session, const KuafuTensor& t, std::span<uint8_t> out,
             std::vector<uint8_t>* valid) {
  const auto size = static_cast<size_t>(ElementSize(t.layout.dtype));
  if (t.count == 0) return;
  const simt::Allocation* a = AllocationOf(session, t);
  const auto* base = static_cast<const uint8_t*>(t.storage->base);
  const bool tracked = valid != nullptr && a != nullptr && a->tracked &&
                       session.memory().BytesNeverWritten(base, t.storage->bytes) > 0;
  if (tracked) valid->resize(out.size());
  if (IsRowMajor(t)) {
    const size_t at = static_cast<size_t>(t.layout.offset) * size;
    std::memcpy(out.data(), base + at, out.size());
    if (tracked)
      for (size_t i = 0; i < out.size(); ++i) (*valid)[i] = a->Valid(at + i, 1) ? 1 : 0;
    return;
  }
  ForEach(t.layout, t.count, [&](int64_t i, int64_t element) {
    const size_t to = static_cast<size_t>(i) * size, at = static_cast<size_t>(element) * size;
    std::memcpy(out.data() + to, base + at, size);
    if (tracked)
      for (size_t k = 0; k < size; ++k) (*valid)[to + k] = a->Valid(at + k, 1) ? 1 : 0;
  });
}

Result<Snapshot> TakeSnapshot(Session& session, const KuafuTensor& t) {
  const uint64_t bytes = ElementBytes(&t);
  if (bytes > session.memory().limit_bytes()) {
    return Error{Code::kExhausted, "copying a tensor of " + std::to_string(bytes) +
                                       " bytes: " + std::to_string(session.memory().limit_bytes()) +
                                       " bytes of device memory are all there is"};
  }
  Snapshot snapshot;
  snapshot.bytes.resize(bytes);
  CopyOut(session, t, snapshot.bytes, &snapshot.valid);
  return snapshot;
}

// Marks bytes of an allocation as written or as not. nullptr: memory of the host.
void SetValid(simt::Allocation* a, size_t offset, size_t bytes, bool value) {
  if (a == nullptr || (!a->tracked && value)) return;
  if (!a->tracked) {
    a->tracked = true;
    a->valid.assign((a->bytes + 63) / 64, ~uint64_t{0});
  }
  a->SetValid(offset, bytes, value);
}

// Converts the elements of a snapshot of type `from` into the tensor. Same count.
void Write(Session& session, KuafuTensor& to, const Snapshot& snapshot, int32_t from) {
  if (to.count == 0) return;
  simt::Allocation* a = AllocationOf(session, to);
  auto* base = static_cast<uint8_t*>(to.storage->base);
  const auto size = static_cast<size_t>(ElementSize(to.layout.dtype));
  const auto from_size = static_cast<size_t>(ElementSize(from));
  const bool same = to.layout.dtype == from;
  if (same && snapshot.valid.empty() && IsRowMajor(to)) {
    uint8_t* first = base + static_cast<size_t>(to.layout.offset) * size;
    std::memcpy(first, snapshot.bytes.data(), snapshot.bytes.size());
    session.memory().MarkInitialized(first, snapshot.bytes.size());
    return;
  }
  ForEach(to.layout, to.count, [&](int64_t i, int64_t element) {
    const size_t at = static_cast<size_t>(element) * size;
    const size_t source = static_cast<size_t>(i) * from_size;
    if (same)
      std::memcpy(base + at, snapshot.bytes.data() + source, size);
    else
      Store(to.layout.dtype, base + at, Load(from, snapshot.bytes.data() + source));
    if (snapshot.valid.empty()) {
      SetValid(a, at, size, true);
      return;
    }
    const uint8_t* flags = snapshot.valid.data() + source;
    if (same) {
      for (size_t k = 0; k < size; ++k) SetValid(a, at + k, 1, flags[k] != 0);
      return;
    }
    const bool whole = std::all_of(flags, flags + from_size, [](uint8_t f) { return f != 0; });
    if (!whole) std::memset(base + at, simt::Memory::kPoisonByte, size);
    SetValid(a, at, size, whole);
  });
}

// Writing through an expanded tensor has no defined result: PyTorch refuses it too.
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

Result<KuafuTensor*> Converted(Session& session, const KuafuTensor& t, int32_t dtype, Where place) {
  KUAFU_TRY(const Snapshot snapshot, TakeSnapshot(session, t));
  KUAFU_TRY(
      KuafuTensor * copy,
      NewTensor(session, {dtype, t.layout.sizes, RowMajor(t.layout.sizes), 0}, {.place = place}));
  Write(session, *copy, snapshot, t.layout.dtype);
  session.NoteCopied(copy->storage->base, t.storage->base);
  return copy;
}

void ReleaseTensor(Session& session, KuafuTensor* tensor) {
  if (--tensor->references > 0) return;
  session.tensors().live.erase(tensor);
}

}  // namespace

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

Gathered Gather(Session& session, const KuafuTensor* tensor, std::span<uint8_t> out) {
  if (tensor->count > 0 && !tensor->storage->host && IsRowMajor(*tensor)) {
    CopyOut(session, *tensor, out, nullptr);
    return {out.size(), session.memory().BytesNeverWritten(tensor->first(), out.size())};
  }
  std::vector<uint8_t> valid;
  CopyOut(session, *tensor, out, &valid);
  return {out.size(), static_cast<uint64_t>(std::count(valid.begin(), valid.end(), uint8_t{0}))};
}

KnownElements Knowledge(Session& session, const KuafuTensor* tensor) {
  KnownElements result;
  const bool blind = !session.blind().empty();
  result.flags.assign(static_cast<size_t>(tensor->count), blind ? 0 : 1);
  const simt::Allocation* a = AllocationOf(session, *tensor);
  if (a == nullptr || blind) return result;
  const auto size = static_cast<size_t>(ElementSize(tensor->layout.dtype));
  ForEach(tensor->layout, tensor->count, [&](int64_t i, int64_t element) {
    const size_t at = static_cast<size_t>(element) * size;
    const bool known = a->Known(at, size);
    result.flags[static_cast<size_t>(i)] = known ? 1 : 0;
    if (!known) return;
    ++result.count;
    for (size_t k = 0; a->tracked && k < size; ++k)
      result.never_written += a->Valid(at + k, 1) ? 0 : 1;
  });
  return result;
}

}  // namespace kuafu::hostabi

uint8_t* KuafuTensor::first() const {
  if (storage->base == nullptr || count == 0) return nullptr;
  return static_cast<uint8_t*>(storage->base) +
         layout.offset * kuafu::hostabi::ElementSize(layout.dtype);
}

namespace abi = kuafu::hostabi;

namespace {

// Records the failure for kuafu_tensor_error.
std::nullptr_t Refuse(kuafu::Error error) {
  Current().tensors().error = std::move(error.message);
  return nullptr;
}
KuafuTensor* Answer(kuafu::Result<KuafuTensor*> result) {
  return result.ok() ? result.value() : Refuse(std::move(result).error());
}
int32_t AnswerStatus(kuafu::Status status) {
  if (status.ok()) return 0;
  Refuse(std::move(status).error());
  return -1;
}

// nullptr, with the reason recorded, if the handle is not a live tensor.
KuafuTensor* Live(const KuafuTensor* tensor, const char* what) {
  if (abi::IsTensor(Current(), tensor)) return Current().tensors().live.find(tensor)->second.get();
  return Refuse({kuafu::Code::kInvalidInput,
                 std::string(what) + (tensor == nullptr ? ": the tensor is null"
                                                        : ": this is not a tensor, it was released "
                                                          "already, or its memory was freed")});
}

std::vector<int64_t> List(const int64_t* values, int32_t count) { return {values, values + count}; }

}  // namespace

#define KUAFU_EXPORT extern "C" __attribute__((visibility("default")))

KUAFU_EXPORT KuafuTensor* kuafu_tensor_new(int32_t ndim, const int64_t* sizes,
                                           const int64_t* strides, int32_t dtype, uint32_t flags) {
  if (ndim < 0 || ndim > KUAFU_MAX_DIMS || (ndim > 0 && sizes == nullptr)) {
    return Refuse({kuafu::Code::kInvalidInput,
                   "making a tensor of " + std::to_string(ndim) + " dimensions: 0 to " +
                       std::to_string(KUAFU_MAX_DIMS) + " are possible, with a size for each"});
  }
  TensorLayout layout{dtype, List(sizes, ndim), std::vector<int64_t>(static_cast<size_t>(ndim)), 0};
  // Checked before row-major strides are formed from the sizes, which may overflow.
  auto checked = abi::Measure(layout);
  if (!checked.ok()) return Refuse(std::move(checked).error());
  layout.strides = strides != nullptr ? List(strides, ndim) : abi::RowMajor(layout.sizes);
  const Where place = (flags & KUAFU_TENSOR_HOST) != 0 ? Where::kHost : Where::kDevice;
  return Answer(abi::NewTensor(Current(), std::move(layout),
                               {.zero = (flags & KUAFU_TENSOR_ZERO) != 0, .place = place}));
}

KUAFU_EXPORT KuafuTensor* kuafu_tensor_retain(KuafuTensor* tensor) {
  KuafuTensor* t = Live(tensor, "retaining a tensor");
  if (t != nullptr) ++t->references;
  return t;
}

KUAFU_EXPORT void kuafu_tensor_release(KuafuTensor* tensor) {
  if (tensor == nullptr) return;
  auto& live = Current().tensors().live;  // also when its memory was freed
  if (live.contains(tensor)) abi::ReleaseTensor(Current(), tensor);
}

KUAFU_EXPORT void* kuafu_tensor_data(const KuafuTensor* tensor) {
  const KuafuTensor* t = Live(tensor, "asking for the address of a tensor");
  return t == nullptr ? nullptr : t->first();
}
KUAFU_EXPORT int32_t kuafu_tensor_ndim(const KuafuTensor* tensor) {
  const KuafuTensor* t = Live(tensor, "asking for the dimensions of a tensor");
  return t == nullptr ? -1 : static_cast<int32_t>(t->layout.sizes.size());
}
KUAFU_EXPORT const int64_t* kuafu_tensor_sizes(const KuafuTensor* tensor) {
  const KuafuTensor* t = Live(tensor, "asking for the sizes of a tensor");
  return t == nullptr ? nullptr : t->layout.sizes.data();
}
KUAFU_EXPORT const int64_t* kuafu_tensor_strides(const KuafuTensor* tensor) {
  const KuafuTensor* t = Live(tensor, "asking for the strides of a tensor");
  return t == nullptr ? nullptr : t->layout.strides.data();
}
KUAFU_EXPORT int32_t kuafu_tensor_dtype(const KuafuTensor* tensor) {
  const KuafuTensor* t = Live(tensor, "asking for the type of a tensor");
  return t == nullptr ? -1 : t->layout.dtype;
}
KUAFU_EXPORT int64_t kuafu_tensor_numel(const KuafuTensor* tensor) {
  const KuafuTensor* t = Live(tensor, "counting the elements of a tensor");
  return t == nullptr ? -1 : t->count;
}
KUAFU_EXPORT int64_t kuafu_tensor_storage_offset(const KuafuTensor* tensor) {
  const KuafuTensor* t = Live(tensor, "asking for the offset of a tensor");
  return t == nullptr ? -1 : t->layout.offset;
}
KUAFU_EXPORT int32_t kuafu_tensor_is_cuda(const KuafuTensor* tensor) {
  const KuafuTensor* t = Live(tensor, "asking for the device of a tensor");
  return t == nullptr ? -1 : t->storage->host ? 0 : 1;
}

KUAFU_EXPORT KuafuTensor* kuafu_tensor_as_strided(KuafuTensor* tensor, int32_t ndim,
                                                  const int64_t* sizes, const int64_t* strides,
                                                  int64_t storage_offset) {
  KuafuTensor* t = Live(tensor, "viewing a tensor");
  if (t == nullptr) return nullptr;
  if (ndim < 0 || ndim > KUAFU_MAX_DIMS || (ndim > 0 && (sizes == nullptr || strides == nullptr))) {
    return Refuse(
        {kuafu::Code::kInvalidInput, "viewing a tensor by " + std::to_string(ndim) +
                                         " dimensions: 0 to " + std::to_string(KUAFU_MAX_DIMS) +
                                         " are possible, with a size and a stride for each"});
  }
  const TensorLayout layout{t->layout.dtype, List(sizes, ndim), List(strides, ndim),
                            storage_offset};
  return Answer(abi::ShareTensor(Current(), t, layout));
}

KUAFU_EXPORT KuafuTensor* kuafu_tensor_contiguous(KuafuTensor* tensor) {
  KuafuTensor* t = Live(tensor, "making a tensor contiguous");
  if (t == nullptr) return nullptr;
  if (t->count != 0 && !abi::IsRowMajor(*t))
    return Answer(abi::Converted(Current(), *t, t->layout.dtype, abi::WhereIs(t)));
  ++t->references;
  return t;
}

KUAFU_EXPORT KuafuTensor* kuafu_tensor_to_dtype(KuafuTensor* tensor, int32_t dtype) {
  KuafuTensor* t = Live(tensor, "converting a tensor");
  if (t == nullptr) return nullptr;
  if (abi::FindType(dtype) == nullptr) {
    return Refuse({kuafu::Code::kInvalidInput, "converting a tensor: type number " +
                                                   std::to_string(dtype) +
                                                   " is none of PyTorch's that are known here"});
  }
  return Answer(abi::Converted(Current(), *t, dtype, abi::WhereIs(t)));
}

KUAFU_EXPORT KuafuTensor* kuafu_tensor_to_place(KuafuTensor* tensor, int32_t host) {
  KuafuTensor* t = Live(tensor, "moving a tensor");
  if (t == nullptr) return nullptr;
  const Where place = host != 0 ? Where::kHost : Where::kDevice;
  if (abi::WhereIs(t) != place)
    return Answer(abi::Converted(Current(), *t, t->layout.dtype, place));
  ++t->references;
  return t;
}

KUAFU_EXPORT int32_t kuafu_tensor_fill(KuafuTensor* tensor, double value) {
  KuafuTensor* t = Live(tensor, "filling a tensor");
  if (t == nullptr) return -1;
  if (const int32_t refused = AnswerStatus(abi::CheckWritable(*t)); refused != 0) return refused;
  if (t->count == 0) return 0;
  uint8_t pattern[8];
  const auto size = static_cast<size_t>(abi::ElementSize(t->layout.dtype));
  abi::Store(t->layout.dtype, pattern, {true, value, 0});
  auto* base = static_cast<uint8_t*>(t->storage->base);
  auto& memory = Current().memory();
  const bool whole = abi::IsRowMajor(*t);
  abi::ForEach(t->layout, t->count, [&](int64_t, int64_t element) {
    uint8_t* to = base + static_cast<size_t>(element) * size;
    std::memcpy(to, pattern, size);
    if (!whole) memory.MarkInitialized(to, size);
  });
  if (whole) memory.MarkInitialized(t->first(), static_cast<size_t>(t->count) * size);
  Current().NoteFilled(base);
  return 0;
}

KUAFU_EXPORT int32_t kuafu_tensor_copy(KuafuTensor* to, const KuafuTensor* from) {
  KuafuTensor* target = Live(to, "copying to a tensor");
  if (target == nullptr) return -1;
  const KuafuTensor* source = Live(from, "copying from a tensor");
  if (source == nullptr) return -1;
  if (target->layout.sizes != source->layout.sizes) {
    return AnswerStatus(kuafu::Error{kuafu::Code::kInvalidInput,
                                     "copying a tensor of sizes " +
                                         abi::ListText(source->layout.sizes) + " to one of sizes " +
                                         abi::ListText(target->layout.sizes) +
                                         ": they must be equal; expand() the source first"});
  }
  if (const int32_t refused = AnswerStatus(abi::CheckWritable(*target)); refused != 0)
    return refused;
  // A copy in between, because the two may overlap.
  auto snapshot = abi::TakeSnapshot(Current(), *source);
  if (!snapshot.ok()) return AnswerStatus(std::move(snapshot).error());
  abi::Write(Current(), *target, snapshot.value(), source->layout.dtype);
  Current().NoteCopied(target->storage->base, source->storage->base);
  return 0;
}

KUAFU_EXPORT int32_t kuafu_tensor_item(const KuafuTensor* tensor, double* real, int64_t* integer) {
  const KuafuTensor* t = Live(tensor, "reading a tensor on the host");
  if (t == nullptr) return -1;
  if (t->count != 1 || real == nullptr || integer == nullptr) {
    return AnswerStatus(kuafu::Error{kuafu::Code::kInvalidInput,
                                     "reading a tensor of " + std::to_string(t->count) +
                                         " elements as one number: only one element can be read"});
  }
  auto& session = Current();
  const auto size = static_cast<size_t>(abi::ElementSize(t->layout.dtype));
  session.NoteHostRead(t->first(), size);
  if (session.options().sanitize && !t->storage->host &&
      session.memory().BytesNeverWritten(t->first(), size) > 0) {
    const kuafu::simt::Allocation* a = abi::AllocationOf(session, *t);
    session.AddFinding({.kind = kuafu::simt::Finding::Kind::kUninit,
                        .message = "the host reads an element of " + a->name +
                                   " with item(), but nothing has been written there",
                        .allocation = a->name});
  }
  const abi::Number n = abi::Load(t->layout.dtype, t->first());
  *real = n.real;
  *integer = n.floating ? abi::Truncate(n.real) : n.integer;
  return 0;
}

KUAFU_EXPORT const char* kuafu_tensor_error(void) { return Current().tensors().error.c_str(); }
