// SPDX-License-Identifier: Apache-2.0
// Tensors of a candidate, seen from the process that runs it: inputs go in as bytes of a
// storage with a layout over them, results come out row-major. The candidate itself uses the C
// functions of kuafu/tensor_abi.h, which work on the same objects in the current session.
//
//   KUAFU_TRY(KuafuTensor * x, hostabi::MakeTensor(session, layout, bytes, "x"));
//   ... kuafu_entry(&call) ...
//   KUAFU_TRY(hostabi::Gathered g, hostabi::Gather(session, result, out));
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hostabi/session.h"
#include "kuafu/tensor_abi.h"

namespace kuafu::hostabi {

// KUAFU_FLOAT32 for "f32", and back; the names are those of tensor::DTypeName.
std::optional<int32_t> TensorTypeOf(std::string_view name);
std::string_view TensorTypeName(int32_t dtype);

// Counted in elements, as in PyTorch.
struct TensorLayout {
  int32_t dtype = KUAFU_FLOAT32;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
};

// A fresh allocation holding a copy of `storage`, with red zones, called `name` in findings. The
// caller gets one reference; give it back with kuafu_tensor_release.
Result<KuafuTensor*> MakeTensor(Session& session, const TensorLayout& layout,
                                std::span<const uint8_t> storage, const std::string& name);
enum class Where : uint8_t { kDevice, kHost };
// Over memory that is there already: on the device `base` is the start of an allocation, on the
// host any address; nullptr for a tensor without elements. The caller keeps it alive as long as the
// tensor. One reference.
Result<KuafuTensor*> WrapTensor(Session& session, const TensorLayout& layout, void* base,
                                uint64_t bytes, Where place);
// Another layout over the storage of `other`, possibly of another type. One reference.
Result<KuafuTensor*> ShareTensor(Session& session, KuafuTensor* other, const TensorLayout& layout);

// False for a handle that is not (or no longer) a tensor of the session, or whose memory was freed.
bool IsTensor(Session& session, const KuafuTensor* tensor);
// Precondition of what follows: IsTensor().
TensorLayout LayoutOf(const KuafuTensor* tensor);
Where WhereIs(const KuafuTensor* tensor);
int64_t References(const KuafuTensor* tensor);
// Bytes of the elements in row-major order.
uint64_t ElementBytes(const KuafuTensor* tensor);
uint64_t ElementCount(const KuafuTensor* tensor);
// Its number in the allocation table, 0 when it has no bytes or is on the host.
uint32_t AllocationId(const KuafuTensor* tensor);
// The whole allocation, whatever the layout shows of it.
std::span<const uint8_t> StorageBytes(const KuafuTensor* tensor);

// Of the tensor on the host that the address lies in: "the float32 tensor [4]"; empty if there is
// none.
std::string HostTensorAt(Session& session, uint64_t address);

struct Gathered {
  uint64_t bytes = 0;
  uint64_t never_written = 0;  // bytes of elements that nobody has set
};
// Copies the elements in row-major order; `out` must hold ElementBytes().
Gathered Gather(Session& session, const KuafuTensor* tensor, std::span<uint8_t> out);
// After a sampled call: one flag for each element in row-major order, 1 = all its bytes are known.
struct KnownElements {
  std::vector<uint8_t> flags;
  uint64_t count = 0;          // of those that are
  uint64_t never_written = 0;  // bytes of them that nobody has set
};
KnownElements Knowledge(Session& session, const KuafuTensor* tensor);

}  // namespace kuafu::hostabi
