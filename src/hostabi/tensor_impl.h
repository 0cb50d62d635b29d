// SPDX-License-Identifier: Apache-2.0
// What the files of this folder know about tensors and nobody else: a storage is one device
// allocation with red zones, or a block of the host's memory; tensors are counted layouts over it.
// Copies made by the host carry along which bytes were ever written, so that a missing write is
// still seen after contiguous() or copy_(); of memory on the host nobody knows, so it counts as
// written.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hostabi/tensor_state.h"
#include "hostabi/tensors.h"

struct KuafuTensor {
  std::shared_ptr<kuafu::hostabi::Storage> storage;  // owned by the tensors over it
  kuafu::hostabi::TensorLayout layout;
  int64_t count = 0;
  int64_t references = 1;

  uint8_t* first() const;  // nullptr without elements: the offset may lie outside the storage
};

namespace kuafu::hostabi {

// tensors.cpp

struct TypeRow {
  int32_t dtype;
  const char* name;
  const char* torch_name;
  int64_t bytes;
};
const TypeRow* FindType(int32_t dtype);  // nullptr = unknown
int64_t ElementSize(int32_t dtype);      // of a known type

std::string ListText(std::span<const int64_t> values);
std::vector<int64_t> RowMajor(std::span<const int64_t> sizes);
bool IsRowMajor(const KuafuTensor& tensor);

struct Extent {
  int64_t count = 0;     // elements
  int64_t required = 0;  // elements the storage must have, offset included
};
// Validates type, sizes, strides and offset.
Result<Extent> Measure(const TensorLayout& layout);

struct StorageOptions {
  bool zero = false;
  Where place = Where::kDevice;
};
Result<KuafuTensor*> NewTensor(Session& session, TensorLayout layout, StorageOptions options);
// Of the same elements, row-major, possibly of another type or in another place.
Result<KuafuTensor*> Converted(Session& session, const KuafuTensor& tensor, int32_t dtype,
                               Where place);

// Writing through an expanded tensor has no defined result: PyTorch refuses it too.
Status CheckWritable(const KuafuTensor& tensor);
simt::Allocation* AllocationOf(Session& session, const KuafuTensor& tensor);

// tensor_elements.cpp

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

// An element as a number: integers exactly, floats as double.
struct Number {
  bool floating = false;
  double real = 0;
  int64_t integer = 0;
};
Number Load(int32_t dtype, const uint8_t* p);
void Store(int32_t dtype, uint8_t* p, const Number& number);
// What does not fit becomes the nearest value that does, NaN becomes 0.
int64_t Truncate(double v);

// The elements of a tensor in row-major order, with one flag per byte if some were never written.
struct Snapshot {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> valid;  // empty = all
};
Result<Snapshot> TakeSnapshot(Session& session, const KuafuTensor& tensor);
// Converts the elements of a snapshot of type `from` into the tensor. Same count.
void Write(Session& session, KuafuTensor& to, const Snapshot& snapshot, int32_t from);

}  // namespace kuafu::hostabi
