// SPDX-License-Identifier: Apache-2.0
// The tensor functions that a candidate's host code calls (kuafu/tensor_abi.h). Handles come from
// foreign code: each is looked up before it is used.
#include <cstring>
#include <string>

#include "hostabi/tensor_impl.h"

using kuafu::hostabi::Current;
using kuafu::hostabi::TensorLayout;
using kuafu::hostabi::Where;

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
  if (live.contains(tensor) && --tensor->references == 0) live.erase(tensor);
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
  if (Current().SkipsData(static_cast<uint64_t>(t->count) * size)) {
    Current().NoteFilled(base);
    return 0;
  }
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
  if (Current().SkipsData(target->storage->bytes)) {
    Current().NoteCopied(target->storage->base, source->storage->base);
    return 0;
  }
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
