// SPDX-License-Identifier: Apache-2.0
// The small types that tensors are described with: element types, devices, lists, options; and how the
// candidate's host code raises errors. Light on standard headers, since every compilation reads it.
#pragma once

#include <array>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kuafu/half_names.h"
#include "kuafu/runtime_api.h"
#include "kuafu/tensor_abi.h"

namespace kuafu {

// Short, since every candidate compiles what it calls: the work is done by the runner.
[[noreturn]] inline void RaiseWords(const char* a, const char* b, const char* c, const char* d) { kuafu_raise(a, b, c, d); }
[[noreturn]] inline void RaiseNumbers(const char* a, long long i, const char* b, long long n, const char* c) { kuafu_raise_numbers(a, i, b, n, c); }
[[noreturn]] inline void Raise(const char* message) { kuafu_raise(message, "", "", ""); }
[[noreturn]] inline void Raise(const std::string& message) { Raise(message.c_str()); }

inline void Append(std::string& s, const std::string& a) { s += a; }
inline void Append(std::string& s, const char* a) { s += a; }
inline void Append(std::string& s, char a) { s += a; }
// Not std::to_string: its templates would be compiled anew for every candidate.
inline void AppendInteger(std::string& s, long long a) {
  char text[24];
  snprintf(text, sizeof text, "%lld", a);
  s += text;
}
inline void AppendReal(std::string& s, double a) {
  char text[40];
  snprintf(text, sizeof text, "%g", a);
  s += text;
}
template <class T> constexpr auto IsShown(int) -> decltype(std::declval<const T&>().str(), true) { return true; }
template <class T> constexpr bool IsShown(long) { return false; }
template <class T> inline void Append(std::string& s, const T& a) {
  if constexpr (std::is_floating_point_v<T>) AppendReal(s, (double)a);
  else if constexpr (IsShown<T>(0)) s += a.str();
  else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) AppendInteger(s, (long long)a);
  else if constexpr (std::is_convertible_v<T, std::string>) s += std::string(a);
  else {
    s += '[';
    bool first = true;
    for (auto v : a) {
      if (!first) s += ", ";
      first = false;
      Append(s, v);
    }
    s += ']';
  }
}
template <class... A> inline std::string Concat(const A&... a) {
  std::string s;
  (Append(s, a), ...);
  return s;
}
// What TORCH_CHECK calls: almost always without a template.
[[noreturn]] inline void CheckFailed(const char* condition) { kuafu_raise(condition, "", "", ""); }
[[noreturn]] inline void CheckFailed(const char* condition, const char* message) { kuafu_raise(condition, message, "", ""); }
template <class... A> [[noreturn]] inline void CheckFailed(const char* condition, const A&... a) { Raise(Concat(condition, a...)); }

}  // namespace kuafu

namespace c10 {

using std::optional;
using std::nullopt;
using std::make_optional;
using Half = __half;
using BFloat16 = __nv_bfloat16;

enum class ScalarType : int8_t {
  Byte = 0, Char = 1, Short = 2, Int = 3, Long = 4, Half = 5, Float = 6, Double = 7, Bool = 11, BFloat16 = 15,
  Undefined = -1
};
enum class DeviceType : int8_t { CPU = 0, CUDA = 1, PrivateUse1 = 20 };
using DeviceIndex = int8_t;
#ifdef KUAFU_MUSA
constexpr DeviceType kKuafuDevice = DeviceType::PrivateUse1;
#else
constexpr DeviceType kKuafuDevice = DeviceType::CUDA;
#endif
struct Device {
  DeviceType kind = kKuafuDevice;
  int number = 0;
  Device(DeviceType type = kKuafuDevice, int index = 0) : kind(type), number(index < 0 ? 0 : index) {}
  Device(const char* name) : Device(std::string(name)) {}
  Device(const std::string& name) : kind(name.rfind("cpu", 0) == 0 ? DeviceType::CPU : kKuafuDevice) {}
  DeviceType type() const { return kind; }
  int index() const { return number; }
  bool has_index() const { return true; }
  // Ported sources ask for the other dialect's device.
  bool is_cuda() const { return kind != DeviceType::CPU; }
  bool is_cpu() const { return kind == DeviceType::CPU; }
  bool is_privateuseone() const { return is_cuda(); }
  bool is_musa() const { return is_cuda(); }
  std::string str() const { return is_cpu() ? "cpu" : kKuafuDevice == DeviceType::CUDA ? "cuda:0" : "musa:0"; }
  bool operator==(const Device& o) const { return kind == o.kind && number == o.number; }
  bool operator!=(const Device& o) const { return !(*this == o); }
};

// A borrowed list. An initializer list lives until the end of the full expression.
template <class T> class ArrayRef {
 public:
  using value_type = T;
  using iterator = const T*;
  ArrayRef() = default;
  ArrayRef(const T& one) : data_(&one), size_(1) {}
  template <size_t N> ArrayRef(const std::array<T, N>& v) : data_(v.data()), size_(N) {}
  ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  ArrayRef(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}
  ArrayRef(const std::initializer_list<T>& v) : data_(v.begin()), size_(v.size()) {}
  template <size_t N> ArrayRef(const T (&v)[N]) : data_(v), size_(N) {}
  const T* data() const { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& at(size_t i) const { return i < size_ ? data_[i] : (kuafu::Raise("index out of range"), data_[0]); }
  ArrayRef slice(size_t first, size_t count) const { return {data_ + first, count}; }
  ArrayRef slice(size_t first) const { return {data_ + first, size_ - first}; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  bool equals(ArrayRef o) const {
    if (size_ != o.size_) return false;
    for (size_t i = 0; i < size_; ++i) if (!(data_[i] == o.data_[i])) return false;
    return true;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};
template <class T> bool operator==(ArrayRef<T> a, ArrayRef<T> b) { return a.equals(b); }
template <class T> bool operator!=(ArrayRef<T> a, ArrayRef<T> b) { return !a.equals(b); }
using IntArrayRef = ArrayRef<int64_t>;
using string_view = std::string_view;
template <class T, unsigned N = 8> using SmallVector = std::vector<T>;

template <class T> struct CppTypeToScalarType;
#define KUAFU_TYPE(T, name) template <> struct CppTypeToScalarType<T> { static constexpr ScalarType value = ScalarType::name; };
KUAFU_TYPE(uint8_t, Byte) KUAFU_TYPE(int8_t, Char) KUAFU_TYPE(int16_t, Short) KUAFU_TYPE(int, Int) KUAFU_TYPE(long, Long)
KUAFU_TYPE(long long, Long) KUAFU_TYPE(__half, Half) KUAFU_TYPE(float, Float) KUAFU_TYPE(double, Double) KUAFU_TYPE(bool, Bool)
KUAFU_TYPE(__nv_bfloat16, BFloat16)
#undef KUAFU_TYPE

inline const char* toString(ScalarType t) {
  switch (t) {
    case ScalarType::Byte: return "Byte";
    case ScalarType::Char: return "Char";
    case ScalarType::Short: return "Short";
    case ScalarType::Int: return "Int";
    case ScalarType::Long: return "Long";
    case ScalarType::Half: return "Half";
    case ScalarType::Float: return "Float";
    case ScalarType::Double: return "Double";
    case ScalarType::Bool: return "Bool";
    case ScalarType::BFloat16: return "BFloat16";
    default: return "Undefined";
  }
}
inline size_t elementSize(ScalarType t) {
  switch (t) {
    case ScalarType::Byte: case ScalarType::Char: case ScalarType::Bool: return 1;
    case ScalarType::Short: case ScalarType::Half: case ScalarType::BFloat16: return 2;
    case ScalarType::Int: case ScalarType::Float: return 4;
    default: return 8;
  }
}
inline bool isFloatingType(ScalarType t) {
  return t == ScalarType::Half || t == ScalarType::Float || t == ScalarType::Double || t == ScalarType::BFloat16;
}

inline bool isIntegralType(ScalarType t, bool with_bool = false) {
  return !isFloatingType(t) && t != ScalarType::Undefined && (with_bool || t != ScalarType::Bool);
}
inline bool isReducedFloatingType(ScalarType t) { return t == ScalarType::Half || t == ScalarType::BFloat16; }

// What dtype() returns.
class TypeMeta {
 public:
  TypeMeta(ScalarType type = ScalarType::Undefined) : type_(type) {}
  operator ScalarType() const { return type_; }
  ScalarType toScalarType() const { return type_; }
  const char* name() const { return toString(type_); }
  size_t itemsize() const { return elementSize(type_); }
  std::string str() const { return name(); }
  friend bool operator==(TypeMeta a, TypeMeta b) { return a.type_ == b.type_; }
  friend bool operator!=(TypeMeta a, TypeMeta b) { return a.type_ != b.type_; }
  friend bool operator==(TypeMeta a, ScalarType b) { return a.type_ == b; }
  friend bool operator!=(TypeMeta a, ScalarType b) { return a.type_ != b; }
  friend bool operator==(ScalarType a, TypeMeta b) { return a == b.type_; }
  friend bool operator!=(ScalarType a, TypeMeta b) { return a != b.type_; }

 private:
  ScalarType type_;
};
inline TypeMeta scalarTypeToTypeMeta(ScalarType t) { return t; }
inline ScalarType typeMetaToScalarType(TypeMeta t) { return t; }

// What the older type() returns.
struct TypeProperties {
  ScalarType type_;
  bool cuda_;
  operator ScalarType() const { return type_; }
  ScalarType scalarType() const { return type_; }
  bool is_cuda() const { return cuda_; }
  std::string toString() const { return std::string(cuda_ ? "CUDA" : "CPU") + c10::toString(type_) + "Type"; }
  std::string str() const { return toString(); }
};

// A number of any type.
class Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> Scalar(T v) {
    type_ = std::is_same_v<T, bool> ? ScalarType::Bool : std::is_floating_point_v<T> ? ScalarType::Double : ScalarType::Long;
    if constexpr (std::is_floating_point_v<T>) real_ = (double)v;
    else integer_ = (int64_t)v;
  }
  ScalarType type() const { return type_; }
  bool isFloatingPoint() const { return type_ == ScalarType::Double; }
  bool isIntegral(bool with_bool = false) const { return type_ == ScalarType::Long || (with_bool && isBoolean()); }
  bool isBoolean() const { return type_ == ScalarType::Bool; }
  template <class T> T to() const { return isFloatingPoint() ? (T)real_ : (T)integer_; }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int toInt() const { return to<int>(); }
  int64_t toLong() const { return to<int64_t>(); }
  bool toBool() const { return to<bool>(); }

 private:
  ScalarType type_ = ScalarType::Long;
  int64_t integer_ = 0;
  double real_ = 0;
};

enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
enum class Layout : int8_t { Strided, Sparse };
constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse;
struct TensorOptions {
  ScalarType type = ScalarType::Float;
  Device place = DeviceType::CPU;  // where PyTorch creates what it is told nothing about
  bool has_type = false, has_place = false;
  TensorOptions() = default;
  TensorOptions(ScalarType t) : type(t), has_type(true) {}
  TensorOptions(TypeMeta t) : TensorOptions((ScalarType)t) {}
  TensorOptions(Device d) : place(d), has_place(true) {}
  TensorOptions(DeviceType d) : place(d), has_place(true) {}
  TensorOptions(Layout) {}
  TensorOptions(MemoryFormat) {}
  TensorOptions dtype(ScalarType t) const { TensorOptions o = *this; o.type = t; o.has_type = true; return o; }
  template <class T> TensorOptions dtype() const { return dtype(CppTypeToScalarType<T>::value); }
  TensorOptions device(Device d) const { TensorOptions o = *this; o.place = d; o.has_place = true; return o; }
  TensorOptions device(DeviceType d, int index = 0) const { return device(Device(d, index)); }
  template <class T, class = std::enable_if_t<std::is_same_v<T, std::optional<Device>>>> TensorOptions device(const T& d) const { return d ? device(*d) : *this; }
  TensorOptions device_index(int index) const { return device(kKuafuDevice, index); }
  TensorOptions requires_grad(bool = true) const { return *this; }
  TensorOptions memory_format(MemoryFormat) const { return *this; }
  TensorOptions layout(Layout) const { return *this; }
  TensorOptions pinned_memory(bool = true) const { return *this; }
  TypeMeta dtype() const { return type; }
  Device device() const { return place; }
  bool has_dtype() const { return has_type; }
  bool has_device() const { return has_place; }
  Layout layout() const { return kStrided; }
  bool requires_grad() const { return false; }
};
using Error = std::runtime_error;
template <class... A> inline std::string str(const A&... a) { return kuafu::Concat(a...); }

inline void Append(std::string& s, ScalarType t) { s += toString(t); }
template <class Traits, class T> std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const ArrayRef<T>& v) { return out << kuafu::Concat(v); }
template <class Traits> std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, ScalarType t) { return out << toString(t); }
template <class Traits> std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, TypeMeta t) { return out << t.name(); }
template <class Traits> std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Device& d) { return out << d.str(); }

struct IntegerRange {
  struct Iterator {
    int64_t at;
    int64_t operator*() const { return at; }
    Iterator& operator++() { ++at; return *this; }
    bool operator!=(Iterator o) const { return at != o.at; }
  };
  int64_t first, last;
  Iterator begin() const { return {first}; }
  Iterator end() const { return {last}; }
};
inline IntegerRange irange(int64_t end) { return {0, end < 0 ? 0 : end}; }
inline IntegerRange irange(int64_t begin, int64_t end) { return {begin, end < begin ? begin : end}; }

}  // namespace c10
namespace caffe2 {
using c10::TypeMeta;
}

