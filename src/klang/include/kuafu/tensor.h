// SPDX-License-Identifier: Apache-2.0
// torch::Tensor as candidates use it: a counted handle over tensor_abi.h with sizes, views and element
// access. Operators and library functions (matmul, softmax, +) do not exist: a candidate has to bring
// kernels. Light on standard headers, since every compilation reads it.
#pragma once

#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
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
template <class T> inline void Append(std::string& s, const T& a) {
  if constexpr (std::is_floating_point_v<T>) AppendReal(s, (double)a);
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
struct Device {
  DeviceType kind = DeviceType::CUDA;
  int number = 0;
  Device(DeviceType type = DeviceType::CUDA, int index = 0) : kind(type), number(index < 0 ? 0 : index) {}
  DeviceType type() const { return kind; }
  int index() const { return number; }
  bool is_cuda() const { return kind == DeviceType::CUDA; }
  bool is_cpu() const { return kind == DeviceType::CPU; }
  bool is_privateuseone() const { return kind == DeviceType::PrivateUse1; }
  bool operator==(const Device& o) const { return kind == o.kind && number == o.number; }
  bool operator!=(const Device& o) const { return !(*this == o); }
};

// A borrowed list. An initializer list lives until the end of the full expression.
template <class T> class ArrayRef {
 public:
  ArrayRef() = default;
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

enum class MemoryFormat : int8_t { Contiguous, Preserve };
struct TensorOptions {
  ScalarType type = ScalarType::Float;
  Device place;
  bool has_type = false;
  TensorOptions() = default;
  TensorOptions(ScalarType t) : type(t), has_type(true) {}
  TensorOptions(Device d) : place(d) {}
  TensorOptions(DeviceType d) : place(d) {}
  TensorOptions dtype(ScalarType t) const { TensorOptions o = *this; o.type = t; o.has_type = true; return o; }
  TensorOptions device(Device d) const { TensorOptions o = *this; o.place = d; return o; }
  TensorOptions device(DeviceType d, int index = 0) const { return device(Device(d, index)); }
  TensorOptions requires_grad(bool) const { return *this; }
  TensorOptions memory_format(MemoryFormat) const { return *this; }
  ScalarType dtype() const { return type; }
  Device device() const { return place; }
};

}  // namespace c10

namespace at {

using namespace c10;
using c10::Half;
using c10::BFloat16;

template <class T> struct DefaultPtrTraits { typedef T* PtrType; };
template <class T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };

template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class I = int64_t>
struct TensorAccessor {
  typename Traits<T>::PtrType data_;
  const I* sizes_;
  const I* strides_;
  KUAFU_METHOD TensorAccessor(T* data, const I* sizes, const I* strides) : data_(data), sizes_(sizes), strides_(strides) {}
  KUAFU_METHOD I size(I i) const { return sizes_[i]; }
  KUAFU_METHOD I stride(I i) const { return strides_[i]; }
  KUAFU_METHOD T* data() const { return data_; }
  KUAFU_METHOD decltype(auto) operator[](I i) const {
    if constexpr (N == 1) return (data_[strides_[0] * i]);
    else return TensorAccessor<T, N - 1, Traits, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class I = int64_t>
struct GenericPackedTensorAccessor {
  typename Traits<T>::PtrType data_;
  I sizes_[N], strides_[N];
  __host__ GenericPackedTensorAccessor(T* data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t i = 0; i < N; ++i) {
      sizes_[i] = (I)sizes[i];
      strides_[i] = (I)strides[i];
    }
  }
  KUAFU_METHOD I size(I i) const { return sizes_[i]; }
  KUAFU_METHOD I stride(I i) const { return strides_[i]; }
  KUAFU_METHOD T* data() const { return data_; }
  KUAFU_METHOD decltype(auto) operator[](I i) const {
    if constexpr (N == 1) return (data_[strides_[0] * i]);
    else return TensorAccessor<T, N - 1, Traits, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;

class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& o) : handle_(o.handle_ ? kuafu_tensor_retain(o.handle_) : nullptr) {}
  Tensor(Tensor&& o) noexcept : handle_(o.handle_) { o.handle_ = nullptr; }
  Tensor& operator=(Tensor o) noexcept {
    KuafuTensor* mine = handle_;
    handle_ = o.handle_;
    o.handle_ = mine;
    return *this;
  }
  ~Tensor() { if (handle_) kuafu_tensor_release(handle_); }
  // Takes over one reference; null is the failure of the C function that made it.
  static Tensor Take(KuafuTensor* handle) {
    if (!handle) kuafu::Raise(kuafu_tensor_error());
    Tensor t;
    t.handle_ = handle;
    return t;
  }
  KuafuTensor* handle() const {
    if (!handle_) kuafu::Raise("an undefined tensor was used");
    return handle_;
  }

  bool defined() const { return handle_ != nullptr; }
  int64_t dim() const { return kuafu_tensor_ndim(handle()); }
  int64_t ndimension() const { return dim(); }
  IntArrayRef sizes() const { return {kuafu_tensor_sizes(handle()), (size_t)dim()}; }
  IntArrayRef strides() const { return {kuafu_tensor_strides(handle()), (size_t)dim()}; }
  int64_t size(int64_t i) const { return kuafu_tensor_size(handle(), i); }
  int64_t stride(int64_t i) const { return strides()[Dim(i)]; }
  int64_t numel() const { return kuafu_tensor_numel(handle()); }
  int64_t storage_offset() const { return kuafu_tensor_storage_offset(handle()); }
  ScalarType scalar_type() const { return (ScalarType)kuafu_tensor_dtype(handle()); }
  ScalarType dtype() const { return scalar_type(); }
  ScalarType type() const { return scalar_type(); }
  size_t element_size() const { return elementSize(scalar_type()); }
  size_t itemsize() const { return element_size(); }
  size_t nbytes() const { return element_size() * (size_t)numel(); }
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  Device device() const { return Device(is_cuda() ? DeviceType::CUDA : DeviceType::CPU); }
  int get_device() const { return 0; }
  bool is_cuda() const { return kuafu_tensor_is_cuda(handle()) != 0; }
  bool is_privateuseone() const { return is_cuda(); }
  bool is_musa() const { return is_cuda(); }
  bool is_cpu() const { return !is_cuda(); }
  bool requires_grad() const { return false; }
  bool is_same(const Tensor& o) const { return handle_ == o.handle_; }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
  bool is_contiguous() const {
    int64_t expected = 1;
    if (numel() == 0) return true;
    for (int64_t i = dim(); i-- > 0;) {
      if (sizes()[i] != 1 && strides()[i] != expected) return false;
      expected *= sizes()[i];
    }
    return true;
  }

  void* data_ptr() const { return kuafu_tensor_data(handle()); }
  template <class T> T* data_ptr() const {
    using U = std::remove_const_t<T>;
    if (CppTypeToScalarType<U>::value != scalar_type()) {
      kuafu::RaiseWords("data_ptr: expected a tensor of type ", toString(CppTypeToScalarType<U>::value), " but it is ", toString(scalar_type()));
    }
    return (T*)data_ptr();
  }
  template <class T> T* data() const { return data_ptr<T>(); }
  template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <class T> const T* const_data_ptr() const { return data_ptr<std::remove_const_t<T>>(); }
  const void* const_data_ptr() const { return data_ptr(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, Traits> packed_accessor32() const { return {Checked<T>(N), sizes().data(), strides().data()}; }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, Traits> packed_accessor64() const { return {Checked<T>(N), sizes().data(), strides().data()}; }
  template <class T, size_t N> TensorAccessor<T, N> accessor() const { return {Checked<T>(N), sizes().data(), strides().data()}; }
  template <class T> T item() const {
    double real = 0;
    int64_t integer = 0;
    if (kuafu_tensor_item(handle(), &real, &integer) < 0) kuafu::Raise(kuafu_tensor_error());
    if constexpr (std::is_integral_v<T>) return is_floating_point() ? (T)real : (T)integer;
    else return (T)real;
  }

  Tensor contiguous(MemoryFormat = MemoryFormat::Contiguous) const { return Take(kuafu_tensor_contiguous(handle())); }
  Tensor as_strided(IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> offset = std::nullopt) const {
    if (sizes.size() != strides.size()) kuafu::Raise("as_strided: as many strides as sizes are needed");
    return Take(kuafu_tensor_as_strided(handle(), (int32_t)sizes.size(), sizes.data(), strides.data(), offset.value_or(storage_offset())));
  }
  Tensor view(IntArrayRef shape) const {
    std::vector<int64_t> sizes = Resolve(shape);
    std::vector<int64_t> strides(sizes.size());
    if (!ViewStrides(sizes, strides)) kuafu::Raise("view: size and stride do not fit; use reshape");
    return as_strided(sizes, strides);
  }
  Tensor reshape(IntArrayRef shape) const {
    std::vector<int64_t> sizes = Resolve(shape);
    std::vector<int64_t> strides(sizes.size());
    return ViewStrides(sizes, strides) ? as_strided(sizes, strides) : contiguous().view(sizes);
  }
  Tensor view_as(const Tensor& o) const { return view(o.sizes()); }
  Tensor reshape_as(const Tensor& o) const { return reshape(o.sizes()); }
  Tensor flatten(int64_t first = 0, int64_t last = -1) const {
    if (dim() == 0) return reshape({1});
    const size_t a = Dim(first), b = Dim(last);
    if (a > b) kuafu::Raise("flatten: the first dimension lies after the last");
    std::vector<int64_t> shape(sizes().begin(), sizes().begin() + a);
    int64_t n = 1;
    for (size_t i = a; i <= b; ++i) n *= sizes()[i];
    shape.push_back(n);
    for (size_t i = b + 1; i < (size_t)dim(); ++i) shape.push_back(sizes()[i]);
    return reshape(shape);
  }
  Tensor transpose(int64_t a, int64_t b) const {
    std::vector<int64_t> s = sizes().vec(), t = strides().vec();
    std::swap(s[Dim(a)], s[Dim(b)]);
    std::swap(t[Dim(a)], t[Dim(b)]);
    return as_strided(s, t);
  }
  Tensor t() const { return dim() < 2 ? *this : dim() == 2 ? transpose(0, 1) : (kuafu::Raise("t: at most two dimensions"), *this); }
  Tensor permute(IntArrayRef order) const {
    if ((int64_t)order.size() != dim()) kuafu::Raise("permute: one entry per dimension is needed");
    std::vector<int64_t> s, t;
    uint64_t seen = 0;
    for (int64_t i : order) {
      const size_t d = Dim(i);
      if (seen >> d & 1) kuafu::Raise("permute: a dimension is repeated");
      seen |= 1ull << d;
      s.push_back(sizes()[d]);
      t.push_back(strides()[d]);
    }
    return as_strided(s, t);
  }
  Tensor squeeze() const {
    std::vector<int64_t> s, t;
    for (int64_t i = 0; i < dim(); ++i) if (sizes()[i] != 1) { s.push_back(sizes()[i]); t.push_back(strides()[i]); }
    return as_strided(s, t);
  }
  Tensor squeeze(int64_t d) const {
    std::vector<int64_t> s = sizes().vec(), t = strides().vec();
    const size_t i = Dim(d);
    if (s[i] == 1) { s.erase(s.begin() + i); t.erase(t.begin() + i); }
    return as_strided(s, t);
  }
  Tensor unsqueeze(int64_t d) const {
    std::vector<int64_t> s = sizes().vec(), t = strides().vec();
    const int64_t i = d < 0 ? d + dim() + 1 : d;
    if (i < 0 || i > dim()) kuafu::Raise(kuafu::Concat("unsqueeze: dimension ", d, " is out of range"));
    t.insert(t.begin() + i, i < dim() ? s[i] * t[i] : 1);
    s.insert(s.begin() + i, 1);
    return as_strided(s, t);
  }
  Tensor narrow(int64_t d, int64_t start, int64_t length) const {
    const size_t i = Dim(d);
    if (start < 0 || length < 0 || start > sizes()[i] - length) kuafu::Raise("narrow: range outside the dimension");
    std::vector<int64_t> s = sizes().vec();
    s[i] = length;
    return as_strided(s, strides(), storage_offset() + start * strides()[i]);
  }
  Tensor slice(int64_t d, int64_t start, int64_t end) const { return narrow(d, start, (end > size(d) ? size(d) : end) - start); }
  Tensor select(int64_t d, int64_t index) const {
    const size_t i = Dim(d);
    if (index < 0) index += sizes()[i];
    Tensor n = narrow(d, index, 1);
    std::vector<int64_t> s = n.sizes().vec(), t = n.strides().vec();
    s.erase(s.begin() + i);
    t.erase(t.begin() + i);
    return n.as_strided(s, t);
  }
  Tensor operator[](int64_t index) const { return select(0, index); }
  Tensor expand(IntArrayRef shape) const {
    if ((int64_t)shape.size() < dim()) kuafu::Raise("expand: fewer dimensions than the tensor has");
    const size_t lead = shape.size() - (size_t)dim();
    std::vector<int64_t> s = shape.vec(), t(shape.size(), 0);
    for (size_t i = lead; i < shape.size(); ++i) {
      const int64_t own = sizes()[i - lead];
      if (s[i] == -1) s[i] = own;
      if (own == s[i]) t[i] = strides()[i - lead];
      else if (own != 1) kuafu::Raise("expand: only dimensions of size one can grow");
    }
    return as_strided(s, t);
  }
  Tensor expand_as(const Tensor& o) const { return expand(o.sizes()); }

  const Tensor& fill_(double v) const {
    if (kuafu_tensor_fill(handle(), v) < 0) kuafu::Raise(kuafu_tensor_error());
    return *this;
  }
  const Tensor& zero_() const { return fill_(0); }
  const Tensor& copy_(const Tensor& from, bool = false) const {
    if (kuafu_tensor_copy(handle(), from.handle()) < 0) kuafu::Raise(kuafu_tensor_error());
    return *this;
  }
  Tensor clone() const { return Take(kuafu_tensor_to_dtype(handle(), (int32_t)scalar_type())); }
  Tensor detach() const { return *this; }
  Tensor to(ScalarType t) const { return t == scalar_type() ? *this : Take(kuafu_tensor_to_dtype(handle(), (int32_t)t)); }
  Tensor to(const TensorOptions& o) const { return o.has_type ? to(o.type) : *this; }
  Tensor toType(ScalarType t) const { return to(t); }
  Tensor to(Device d) const { return d.is_cpu() ? (kuafu::Raise("to: tensors stay on the device"), *this) : *this; }
  Tensor cuda() const { return *this; }
  Tensor cpu() const { kuafu::Raise("cpu: tensors stay on the device; use item for one element"); }

 private:
  size_t Dim(int64_t i) const {
    const int64_t n = dim();
    if (i < -n || i >= n) kuafu::RaiseNumbers("dimension ", i, " is out of range for a tensor of ", n, " dimensions");
    return (size_t)(i < 0 ? i + n : i);
  }
  template <class T> T* Checked(size_t n) const {
    if ((size_t)dim() != n) kuafu::RaiseNumbers("accessor: expected ", (long long)n, " dimensions but the tensor has ", dim(), "");
    return data_ptr<T>();
  }
  std::vector<int64_t> Resolve(IntArrayRef shape) const {
    std::vector<int64_t> s = shape.vec();
    int64_t known = 1, hole = -1;
    for (size_t i = 0; i < s.size(); ++i) {
      if (s[i] == -1 && hole < 0) hole = (int64_t)i;
      else if (s[i] < 0 || __builtin_mul_overflow(known, s[i], &known)) kuafu::Raise("view: a size is not valid");
    }
    if (hole >= 0 && known > 0 && numel() % known == 0) s[hole] = numel() / known;
    else if (hole >= 0 || known != numel()) kuafu::Raise(kuafu::Concat("shape ", s, " is invalid for a tensor of ", numel(), " elements"));
    return s;
  }
  // Strides of the same elements under other sizes; false if that takes a copy.
  bool ViewStrides(const std::vector<int64_t>& to, std::vector<int64_t>& out) const {
    int64_t step = 1;
    if (numel() == 0 || is_contiguous()) {
      for (size_t i = to.size(); i-- > 0;) { out[i] = step; step *= to[i] > 0 ? to[i] : 1; }
      return true;
    }
    int64_t v = (int64_t)to.size() - 1, chunk = 1, base = dim() ? strides()[dim() - 1] : 1;
    for (int64_t d = dim() - 1; d >= 0; --d) {
      chunk *= sizes()[d];
      if (d != 0 && (sizes()[d - 1] == 1 || strides()[d - 1] == chunk * base)) continue;
      int64_t used = 1;
      while (v >= 0 && (used < chunk || to[v] == 1)) { out[v] = used * base; used *= to[v]; --v; }
      if (used != chunk) return false;
      if (d > 0) { chunk = 1; base = strides()[d - 1]; }
    }
    return v == -1;
  }
  KuafuTensor* handle_ = nullptr;
};

inline Tensor empty_strided(IntArrayRef s, IntArrayRef t, const TensorOptions& o = {}) {
  if (s.size() != t.size()) kuafu::Raise("empty_strided: as many strides as sizes are needed");
  return Tensor::Take(kuafu_tensor_new((int32_t)s.size(), s.data(), t.data(), (int32_t)o.type, KUAFU_TENSOR_UNINIT));
}
inline Tensor empty(IntArrayRef s, const TensorOptions& o = {}) {
  return Tensor::Take(kuafu_tensor_new((int32_t)s.size(), s.data(), nullptr, (int32_t)o.type, KUAFU_TENSOR_UNINIT));
}
inline Tensor empty(IntArrayRef s, const TensorOptions& o, std::optional<MemoryFormat>) { return empty(s, o); }
inline Tensor zeros(IntArrayRef s, const TensorOptions& o = {}) {
  return Tensor::Take(kuafu_tensor_new((int32_t)s.size(), s.data(), nullptr, (int32_t)o.type, KUAFU_TENSOR_ZERO));
}
inline Tensor full(IntArrayRef s, double v, const TensorOptions& o = {}) { return empty(s, o).fill_(v); }
inline Tensor ones(IntArrayRef s, const TensorOptions& o = {}) { return full(s, 1, o); }
inline TensorOptions Merge(const Tensor& t, const TensorOptions& o) { return o.has_type ? o : t.options(); }
inline Tensor empty_like(const Tensor& t) { return empty(t.sizes(), t.options()); }
inline Tensor empty_like(const Tensor& t, const TensorOptions& o, std::optional<MemoryFormat> = std::nullopt) { return empty(t.sizes(), Merge(t, o)); }
inline Tensor zeros_like(const Tensor& t, const TensorOptions& o = {}) { return zeros(t.sizes(), Merge(t, o)); }
inline Tensor ones_like(const Tensor& t, const TensorOptions& o = {}) { return full(t.sizes(), 1, Merge(t, o)); }
inline Tensor full_like(const Tensor& t, double v, const TensorOptions& o = {}) { return full(t.sizes(), v, Merge(t, o)); }
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }

constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char, kInt8 = ScalarType::Char,
    kShort = ScalarType::Short, kInt16 = ScalarType::Short, kInt = ScalarType::Int, kInt32 = ScalarType::Int,
    kLong = ScalarType::Long, kInt64 = ScalarType::Long, kHalf = ScalarType::Half, kFloat16 = ScalarType::Half,
    kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kDouble = ScalarType::Double, kFloat64 = ScalarType::Double,
    kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMUSA = DeviceType::CUDA, kPrivateUse1 = DeviceType::PrivateUse1;

}  // namespace at

namespace torch {
using namespace at;
using Dtype = at::ScalarType;
using at::Tensor;
namespace headeronly { using namespace c10; }
}  // namespace torch

// Checks and dispatch.
#define TORCH_CHECK(condition, ...)                                                                   \
  do {                                                                                                \
    if (!(condition)) ::kuafu::CheckFailed("check failed: " #condition " ", ##__VA_ARGS__);           \
  } while (0)
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b))
#define TORCH_WARN(...) ((void)0)
#define AT_ASSERTM TORCH_CHECK
#define AT_ASSERT TORCH_CHECK
#define AT_ERROR(...) ::kuafu::Raise(::kuafu::Concat(__VA_ARGS__))
#define KUAFU_CASE(Name, T, ...) case ::at::ScalarType::Name: { using scalar_t [[maybe_unused]] = T; return __VA_ARGS__(); }
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                           \
  [&] {                                                                                               \
    const ::at::ScalarType kuafu_type = TYPE;                                                         \
    switch (kuafu_type) {                                                                             \
      __VA_ARGS__                                                                                     \
      default: ::kuafu::RaiseWords(NAME, " is not implemented for '", ::c10::toString(kuafu_type), "'");   \
    }                                                                                                 \
  }()
namespace kuafu {
template <c10::ScalarType> struct CppType;
#define KUAFU_TYPE(T, name) template <> struct CppType<c10::ScalarType::name> { typedef T type; };
KUAFU_TYPE(uint8_t, Byte) KUAFU_TYPE(int8_t, Char) KUAFU_TYPE(int16_t, Short) KUAFU_TYPE(int, Int) KUAFU_TYPE(int64_t, Long)
KUAFU_TYPE(__half, Half) KUAFU_TYPE(float, Float) KUAFU_TYPE(double, Double) KUAFU_TYPE(bool, Bool) KUAFU_TYPE(__nv_bfloat16, BFloat16)
#undef KUAFU_TYPE
}  // namespace kuafu
#define AT_DISPATCH_CASE(enumerator, ...)                                                             \
  case enumerator: { using scalar_t [[maybe_unused]] = ::kuafu::CppType<enumerator>::type; return __VA_ARGS__(); }
#define KUAFU_FLOATING(...) KUAFU_CASE(Float, float, __VA_ARGS__) KUAFU_CASE(Double, double, __VA_ARGS__)
#define KUAFU_INTEGRAL(...)                                                                           \
  KUAFU_CASE(Byte, uint8_t, __VA_ARGS__) KUAFU_CASE(Char, int8_t, __VA_ARGS__) KUAFU_CASE(Short, int16_t, __VA_ARGS__) \
  KUAFU_CASE(Int, int, __VA_ARGS__) KUAFU_CASE(Long, int64_t, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...)                                          \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) KUAFU_CASE(Half, ::at::Half, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(A, TYPE, NAME, ...)                                            \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...)                                        \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...)                                           \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_CASE(Half, ::at::Half, __VA_ARGS__) KUAFU_CASE(BFloat16, ::at::BFloat16, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) KUAFU_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, TYPE, NAME, ...)                                                 \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) KUAFU_INTEGRAL(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...)                                             \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) KUAFU_INTEGRAL(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))

// Streams, guards and error checks of the dialect. Streams of PyTorch: always the default one.
namespace kuafu {
struct Stream {
  cudaStream_t raw = nullptr;
  cudaStream_t stream() const { return raw; }
  operator cudaStream_t() const { return raw; }
  int device_index() const { return 0; }
  void synchronize() const;
};
struct Guard {
  Guard() = default;
  template <class T> explicit Guard(const T&) {}
  template <class T> void set_index(T) {}
  template <class T> void set_device(T) {}
  template <class T> void reset_device(T) {}
};
inline Stream CurrentStream(int = -1) { return {}; }
}  // namespace kuafu
#ifdef KUAFU_MUSA
#define KUAFU_RUNTIME(name) musa##name
#define KUAFU_RUNTIME_NAMESPACE musa
#define KUAFU_RUNTIME_CLASS(name) MUSA##name
#define getCurrentKuafuStream getCurrentMUSAStream
#define getDefaultKuafuStream getDefaultMUSAStream
#else
#define KUAFU_RUNTIME(name) cuda##name
#define KUAFU_RUNTIME_NAMESPACE cuda
#define KUAFU_RUNTIME_CLASS(name) CUDA##name
#define getCurrentKuafuStream getCurrentCUDAStream
#define getDefaultKuafuStream getDefaultCUDAStream
#endif
inline void kuafu::Stream::synchronize() const { KUAFU_RUNTIME(StreamSynchronize)(raw); }
namespace c10 { namespace KUAFU_RUNTIME_NAMESPACE {
using KUAFU_RUNTIME_CLASS(Stream) = kuafu::Stream;
using KUAFU_RUNTIME_CLASS(Guard) = kuafu::Guard;
using KUAFU_RUNTIME_CLASS(StreamGuard) = kuafu::Guard;
using OptionalCUDAGuard = kuafu::Guard;
using OptionalMUSAGuard = kuafu::Guard;
inline kuafu::Stream getCurrentKuafuStream(int device = -1) { return kuafu::CurrentStream(device); }
inline kuafu::Stream getDefaultKuafuStream(int device = -1) { return kuafu::CurrentStream(device); }
inline kuafu::Stream getStreamFromPool(bool = false, int = -1) { return {}; }
inline int current_device() { return 0; }
inline int device_count() { return 1; }
inline void Check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) kuafu::RaiseWords(what, ": ", KUAFU_RUNTIME(GetErrorString)(error), "");
}
}  // namespace KUAFU_RUNTIME_NAMESPACE
}  // namespace c10
namespace at {
namespace KUAFU_RUNTIME_NAMESPACE {
using namespace c10::KUAFU_RUNTIME_NAMESPACE;
inline KUAFU_RUNTIME(DeviceProp)* getCurrentDeviceProperties() {
  static KUAFU_RUNTIME(DeviceProp) properties;
  c10::KUAFU_RUNTIME_NAMESPACE::Check(KUAFU_RUNTIME(GetDeviceProperties)(&properties, 0), "device properties");
  return &properties;
}
}  // namespace KUAFU_RUNTIME_NAMESPACE
using DeviceGuard = kuafu::Guard;
inline std::optional<Device> device_of(const Tensor& t) { return t.device(); }
}  // namespace at
#define KUAFU_CHECK_CALL(call) ::c10::KUAFU_RUNTIME_NAMESPACE::Check((call), #call)
#define C10_CUDA_CHECK(call) KUAFU_CHECK_CALL(call)
#define AT_CUDA_CHECK(call) KUAFU_CHECK_CALL(call)
#define C10_MUSA_CHECK(call) KUAFU_CHECK_CALL(call)
#define TORCH_MUSA_CHECK(call) KUAFU_CHECK_CALL(call)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ::c10::KUAFU_RUNTIME_NAMESPACE::Check(KUAFU_RUNTIME(GetLastError)(), "kernel launch")
#define C10_MUSA_KERNEL_LAUNCH_CHECK() C10_CUDA_KERNEL_LAUNCH_CHECK()

// pybind11: parsed, never run. The entry function is found by name.
namespace kuafu {
struct Arg { template <class T> Arg operator=(const T&) const { return *this; } };
struct PyModule {
  template <class... A> PyModule& def(const A&...) { return *this; }
  template <class... A> PyModule& impl(const A&...) { return *this; }
  template <class T> PyModule& operator=(const T&) { return *this; }
  PyModule& doc() { return *this; }
  template <class T> PyModule& attr(const T&) { return *this; }
};
}  // namespace kuafu
namespace pybind11 {
struct arg : kuafu::Arg {
  explicit arg(const char*) {}
  using kuafu::Arg::operator=;
};
struct none {};
template <class T = void> struct call_guard {};
struct gil_scoped_release {};
}  // namespace pybind11
namespace py = pybind11;
#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME kuafu_extension
#endif
#define KUAFU_CAT_(a, b) a##b
#define KUAFU_CAT(a, b) KUAFU_CAT_(a, b)
#define PYBIND11_MODULE(name, m) [[maybe_unused]] static void KUAFU_CAT(kuafu_pybind_, name)(::kuafu::PyModule& m)
#define TORCH_LIBRARY(name, m) [[maybe_unused]] static void KUAFU_CAT(kuafu_library_, name)(::kuafu::PyModule& m)
#define TORCH_LIBRARY_FRAGMENT TORCH_LIBRARY
#define TORCH_LIBRARY_IMPL(name, key, m) [[maybe_unused]] static void KUAFU_CAT(kuafu_impl_##key##_, name)(::kuafu::PyModule& m)
