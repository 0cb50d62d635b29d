// SPDX-License-Identifier: Apache-2.0
// Conversions are done on the bits, so that they do not depend on the host's F16C.
#include "tensor/tensor.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace kuafu::tensor {
namespace {

struct Info {
  DType dtype;
  std::string_view name;
  int64_t bytes;
};
constexpr Info kInfo[] = {{DType::kF64, "f64", 8}, {DType::kF32, "f32", 4},
                          {DType::kF16, "f16", 2}, {DType::kBF16, "bf16", 2},
                          {DType::kI8, "i8", 1},   {DType::kU8, "u8", 1},
                          {DType::kI16, "i16", 2}, {DType::kI32, "i32", 4},
                          {DType::kI64, "i64", 8}, {DType::kBool, "bool", 1}};

template <class T>
T Load(const void* base, int64_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + offset * int64_t{sizeof(T)}, sizeof(T));
  return value;
}
template <class T>
void Store(void* base, int64_t offset, T value) {
  std::memcpy(static_cast<char*>(base) + offset * int64_t{sizeof(T)}, &value, sizeof(T));
}

}  // namespace

std::string_view DTypeName(DType dtype) { return kInfo[static_cast<int>(dtype)].name; }
std::optional<DType> ParseDType(std::string_view name) {
  for (const Info& info : kInfo) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}
int64_t DTypeBytes(DType dtype) { return kInfo[static_cast<int>(dtype)].bytes; }
bool IsFloat(DType dtype) { return dtype <= DType::kBF16; }
double UnitRoundoff(DType dtype) {
  if (dtype == DType::kF64) return 0x1p-53;
  if (dtype == DType::kF32) return 0x1p-24;
  if (dtype == DType::kF16) return 0x1p-11;
  if (dtype == DType::kBF16) return 0x1p-8;
  return 0;
}

float HalfToFloat(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  float value = 0;
  if (exponent == 31) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    value = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

uint16_t FloatToHalf(float value) {
  const uint16_t sign = std::bit_cast<uint32_t>(value) >> 31 << 15;
  if (std::isnan(value)) return sign | 0x7e00;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return sign | 0x7c00;
  if (magnitude < 0x1p-14F) {  // subnormal, or the smallest normal after rounding: same bits
    return sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24F));
  }
  const uint32_t bits = std::bit_cast<uint32_t>(magnitude);
  const uint32_t rounded = bits + 0xfff + ((bits >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded >> 13) - (112 << 10));
}

float BFloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t FloatToBFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

std::string ShapeText(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

Result<int64_t> ElementCount(const Shape& shape) {
  if (static_cast<int64_t>(shape.size()) > kRankMax) {
    return Error{Code::kInvalidInput, "tensor rank " + std::to_string(shape.size()) +
                                          " exceeds the limit " + std::to_string(kRankMax)};
  }
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count) || count > kTensorBytesMax) {
      return Error{Code::kInvalidInput, "tensor shape with a negative or too large size"};
    }
  }
  return count;
}

Shape ContiguousStrides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i] > 1 ? shape[i] : 1;
  }
  return strides;
}

Result<HostTensor> HostTensor::Create(DType dtype, Shape shape) {
  KUAFU_TRY(const int64_t count, ElementCount(shape));
  const int64_t bytes = count * DTypeBytes(dtype);
  if (bytes > kTensorBytesMax) {
    return Error{Code::kExhausted, "tensor " + ShapeText(shape) + " is too large"};
  }
  std::shared_ptr<char[]> owner(new (std::nothrow) char[static_cast<size_t>(bytes) + 1]());
  if (owner == nullptr) {
    return Error{Code::kExhausted, "no memory for tensor " + ShapeText(shape)};
  }
  void* data = owner.get();
  Shape strides = ContiguousStrides(shape);
  return View(dtype, std::move(shape), std::move(strides), std::move(owner), data, bytes);
}

Result<HostTensor> HostTensor::View(DType dtype, Shape shape, Shape strides,
                                    std::shared_ptr<const void> owner, void* data, int64_t bytes) {
  KUAFU_TRY(const int64_t count, ElementCount(shape));
  if (strides.size() != shape.size()) {
    return Error{Code::kInvalidInput, "tensor with " + std::to_string(strides.size()) +
                                          " strides for shape " + ShapeText(shape)};
  }
  int64_t elements = count == 0 ? 0 : 1;
  for (size_t i = 0; count != 0 && i < shape.size(); ++i) {
    int64_t reach = 0;
    if (strides[i] < 0 || __builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(elements, reach, &elements)) {
      return Error{Code::kInvalidInput, "tensor stride out of range"};
    }
  }
  if (elements > bytes / DTypeBytes(dtype)) {
    return Error{Code::kInvalidInput, "tensor " + ShapeText(shape) + " needs " +
                                          std::to_string(elements) + " elements but only " +
                                          std::to_string(bytes) + " bytes are there"};
  }
  HostTensor t;
  t.dtype_ = dtype;
  const Shape packed = ContiguousStrides(shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1 && strides[i] != packed[i]) t.contiguous_ = count == 0;
  }
  t.shape_ = std::move(shape);
  t.strides_ = std::move(strides);
  t.count_ = count;
  t.span_bytes_ = elements * DTypeBytes(dtype);
  t.owner_ = std::move(owner);
  t.data_ = data;
  return t;
}

int64_t HostTensor::Offset(int64_t index) const {
  if (contiguous_) return index;
  int64_t offset = 0;
  for (size_t i = shape_.size(); i-- > 0;) {
    offset += index % shape_[i] * strides_[i];
    index /= shape_[i];
  }
  return offset;
}

double HostTensor::At(int64_t index) const {
  const int64_t at = Offset(index);
  switch (dtype_) {
    case DType::kF64: return Load<double>(data_, at);
    case DType::kF32: return static_cast<double>(Load<float>(data_, at));
    case DType::kF16: return static_cast<double>(HalfToFloat(Load<uint16_t>(data_, at)));
    case DType::kBF16: return static_cast<double>(BFloatToFloat(Load<uint16_t>(data_, at)));
    case DType::kI8:
    case DType::kU8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kBool: break;
  }
  return static_cast<double>(AtInt(index));
}

int64_t HostTensor::AtInt(int64_t index) const {
  const int64_t at = Offset(index);
  switch (dtype_) {
    case DType::kI8: return Load<int8_t>(data_, at);
    case DType::kU8: return Load<uint8_t>(data_, at);
    case DType::kI16: return Load<int16_t>(data_, at);
    case DType::kI32: return Load<int32_t>(data_, at);
    case DType::kI64: return Load<int64_t>(data_, at);
    case DType::kBool: return Load<uint8_t>(data_, at) != 0 ? 1 : 0;
    case DType::kF64:
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: break;
  }
  const double value = At(index);
  return std::fabs(value) < 0x1p63 ? static_cast<int64_t>(value) : 0;
}

void HostTensor::Set(int64_t index, double value) {
  const int64_t at = Offset(index);
  const int64_t whole = std::fabs(value) < 0x1p63 ? static_cast<int64_t>(value) : 0;
  switch (dtype_) {
    case DType::kF64: Store(data_, at, value); break;
    case DType::kF32: Store(data_, at, static_cast<float>(value)); break;
    case DType::kF16: Store(data_, at, FloatToHalf(static_cast<float>(value))); break;
    case DType::kBF16: Store(data_, at, FloatToBFloat(static_cast<float>(value))); break;
    case DType::kI8: Store(data_, at, static_cast<int8_t>(whole)); break;
    case DType::kU8: Store(data_, at, static_cast<uint8_t>(whole)); break;
    case DType::kI16: Store(data_, at, static_cast<int16_t>(whole)); break;
    case DType::kI32: Store(data_, at, static_cast<int32_t>(whole)); break;
    case DType::kI64: Store(data_, at, whole); break;
    case DType::kBool: Store(data_, at, static_cast<uint8_t>(value != 0 ? 1 : 0)); break;
  }
}

std::vector<double> HostTensor::ToDoubles() const {
  std::vector<double> values(static_cast<size_t>(count_));
  for (int64_t i = 0; i < count_; ++i) values[static_cast<size_t>(i)] = At(i);
  return values;
}

}  // namespace kuafu::tensor
