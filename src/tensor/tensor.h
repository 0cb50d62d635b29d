// SPDX-License-Identifier: Apache-2.0
// Host tensors: a dtype, a shape, element strides and bytes that are owned or shared with a
// mapping.
//
//   KUAFU_TRY(HostTensor t, HostTensor::Create(DType::kF32, {2, 3}));
//   double x = t.At(4);                       // element 4 in row-major order, as double
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kuafu::tensor {

// Serialised by name, not by number.
enum class DType : uint8_t { kF64, kF32, kF16, kBF16, kI8, kU8, kI16, kI32, kI64, kBool };

std::string_view DTypeName(DType dtype);  // "f32"
std::optional<DType> ParseDType(std::string_view name);
int64_t DTypeBytes(DType dtype);
bool IsFloat(DType dtype);
// Unit roundoff: 2^-24 for f32; 0 for integers.
double UnitRoundoff(DType dtype);

float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);  // to nearest even
float BFloatToFloat(uint16_t bits);
uint16_t FloatToBFloat(float value);  // to nearest even

using Shape = std::vector<int64_t>;
inline constexpr int64_t kRankMax = 16;
inline constexpr int64_t kTensorBytesMax = int64_t{1} << 40;

std::string ShapeText(const Shape& shape);  // "[2, 3]"
// Product of the sizes; an error for a negative size, too many dimensions or an overflow.
Result<int64_t> ElementCount(const Shape& shape);
Shape ContiguousStrides(const Shape& shape);

class HostTensor {
 public:
  HostTensor() = default;
  // Zeros, contiguous.
  static Result<HostTensor> Create(DType dtype, Shape shape);
  // Borrows `bytes` from `data` on; shared because several tensors lie in one mapping, which lives
  // until the last of them goes. Strides are in elements, not negative, and must stay in range.
  static Result<HostTensor> View(DType dtype, Shape shape, Shape strides,
                                 std::shared_ptr<const void> owner, void* data, int64_t bytes);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int64_t count() const { return count_; }
  bool contiguous() const { return contiguous_; }
  // The first element.
  void* data() { return data_; }
  const void* data() const { return data_; }
  // Bytes from the first element to the last, whatever lies between.
  int64_t span_bytes() const { return span_bytes_; }
  // Row-major index to an element; the precondition is 0 <= index < count().
  double At(int64_t index) const;
  int64_t AtInt(int64_t index) const;
  void Set(int64_t index, double value);
  // All elements in row-major order.
  std::vector<double> ToDoubles() const;

 private:
  int64_t Offset(int64_t index) const;

  DType dtype_ = DType::kF32;
  Shape shape_;
  Shape strides_;
  int64_t count_ = 0;
  int64_t span_bytes_ = 0;
  bool contiguous_ = true;
  std::shared_ptr<const void> owner_;
  void* data_ = nullptr;
};

}  // namespace kuafu::tensor
