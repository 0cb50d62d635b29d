// SPDX-License-Identifier: Apache-2.0
// Elements of tensors: as numbers, as row-major copies, and what is known about each byte.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "hostabi/tensor_impl.h"
#include "tensor/tensor.h"

namespace kuafu::hostabi {
namespace {

template <class T>
T LoadAs(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void StoreAs(uint8_t* p, T v) {
  std::memcpy(p, &v, sizeof v);
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

// Marks bytes of an allocation as written or as not. nullptr: memory of the host.
void SetValid(simt::Allocation* a, size_t offset, size_t bytes, bool value) {
  if (a == nullptr || (!a->tracked && value)) return;
  if (!a->tracked) {
    a->tracked = true;
    a->valid.assign((a->bytes + 63) / 64, ~uint64_t{0});
  }
  a->SetValid(offset, bytes, value);
}

}  // namespace

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

int64_t Truncate(double v) {
  if (std::isnan(v)) return 0;
  if (v >= 9223372036854775808.0) return INT64_MAX;
  if (v <= -9223372036854775808.0) return INT64_MIN;
  return static_cast<int64_t>(v);
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
