// SPDX-License-Identifier: Apache-2.0
// torch::Tensor as candidates use it: a counted handle over tensor_abi.h with sizes, views and element
// access. Operators and library functions (matmul, softmax, +) compile and end the call: a candidate has to
// bring kernels.
#pragma once

#include "kuafu/c10.h"
#include "kuafu/library_any.h"

#ifdef KUAFU_MUSA
#define KUAFU_RUNTIME(name) musa##name
#else
#define KUAFU_RUNTIME(name) cuda##name
#endif

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
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class I = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, I>;

class Tensor;
// Here because Tensor::index takes them.
namespace indexing {
enum class None_t { kNone };
constexpr None_t None = None_t::kNone;
enum class Ellipsis_t { kEllipsis };
constexpr Ellipsis_t Ellipsis = Ellipsis_t::kEllipsis;
struct Slice {
  std::optional<int64_t> start, stop;
  int64_t step = 1;
  Slice() = default;
  Slice(std::optional<int64_t> first, std::optional<int64_t> last = std::nullopt, std::optional<int64_t> by = std::nullopt);
  Slice(None_t, std::optional<int64_t> last = std::nullopt) : stop(last) {}
  Slice(int64_t first, None_t) : start(first) {}
  Slice(None_t, None_t, std::optional<int64_t> by = std::nullopt) : step(by.value_or(1)) {}
};
struct TensorIndex {
  enum class Kind : uint8_t { kNumber, kSlice, kNone, kEllipsis, kTensor };
  Kind kind;
  int64_t number = 0;
  Slice slice;
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>> TensorIndex(T i) : kind(Kind::kNumber), number((int64_t)i) {}
  TensorIndex(Slice s) : kind(Kind::kSlice), slice(s) {}
  TensorIndex(None_t) : kind(Kind::kNone) {}
  TensorIndex(std::nullopt_t) : kind(Kind::kNone) {}
  TensorIndex(Ellipsis_t) : kind(Kind::kEllipsis) {}
  TensorIndex(const char*) : kind(Kind::kEllipsis) {}
  TensorIndex(const Tensor&) : kind(Kind::kTensor) {}
};
}  // namespace indexing

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
  TypeMeta dtype() const { return scalar_type(); }
  TypeProperties type() const { return {scalar_type(), is_cuda()}; }
  std::string toString() const { return type().toString(); }
  size_t element_size() const { return elementSize(scalar_type()); }
  size_t itemsize() const { return element_size(); }
  size_t nbytes() const { return element_size() * (size_t)numel(); }
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  Device device() const { return Device(is_cuda() ? kKuafuDevice : DeviceType::CPU); }
  Layout layout() const { return kStrided; }
  int get_device() const { return is_cuda() ? 0 : -1; }
  bool is_cuda() const { return kuafu_tensor_is_cuda(handle()) != 0; }
  bool is_privateuseone() const { return is_cuda(); }
  bool is_musa() const { return is_cuda(); }
  bool is_cpu() const { return !is_cuda(); }
  bool is_sparse() const { return false; }
  bool is_quantized() const { return false; }
  bool is_complex() const { return false; }
  bool is_signed() const { return scalar_type() != ScalarType::Byte && scalar_type() != ScalarType::Bool; }
  bool is_leaf() const { return true; }
  bool is_pinned() const { return false; }
  bool requires_grad() const { return false; }
  const Tensor& set_requires_grad(bool) const { return *this; }
  const Tensor& requires_grad_(bool = true) const { return *this; }
  void reset() { *this = Tensor(); }
  bool sizes_equal(const Tensor& o) const { return sizes() == o.sizes(); }
  bool is_same(const Tensor& o) const { return handle_ == o.handle_; }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
  bool is_contiguous(MemoryFormat format) const {
    return format == MemoryFormat::Contiguous ? is_contiguous() : numel() == 0 || strides() == IntArrayRef(FormatStrides(format));
  }
  bool is_non_overlapping_and_dense() const { return is_contiguous(); }
  MemoryFormat suggest_memory_format() const {
    return dim() == 4 && !is_contiguous() && is_contiguous(MemoryFormat::ChannelsLast) ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
  }
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
      kuafu::RaiseWords("data_ptr: expected a tensor of type ", c10::toString(CppTypeToScalarType<U>::value), " but it is ", c10::toString(scalar_type()));
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
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class I = int64_t>
  GenericPackedTensorAccessor<T, N, Traits, I> packed_accessor() const { return {Checked<T>(N), sizes().data(), strides().data()}; }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  GenericPackedTensorAccessor<T, N, Traits, int64_t> generic_packed_accessor() const { return packed_accessor<T, N, Traits>(); }
  // Of the host's code: on a GPU the first access to an element would crash the process.
  template <class T, size_t N> TensorAccessor<T, N> accessor() const {
    if (is_cuda()) kuafu::Raise("accessor: host code cannot reach the elements of a tensor on the GPU: use packed_accessor32 in a kernel, or cpu()");
    return {Checked<T>(N), sizes().data(), strides().data()};
  }
  template <class T> T item() const {
    double real = 0;
    int64_t integer = 0;
    if (kuafu_tensor_item(handle(), &real, &integer) < 0) kuafu::Raise(kuafu_tensor_error());
    if constexpr (std::is_integral_v<T>) return is_floating_point() ? (T)real : (T)integer;
    else return (T)real;
  }

  Scalar item() const {
    double real = 0;
    int64_t integer = 0;
    if (kuafu_tensor_item(handle(), &real, &integer) < 0) kuafu::Raise(kuafu_tensor_error());
    return is_floating_point() ? Scalar(real) : Scalar(integer);
  }

  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const {
    if (format != MemoryFormat::Contiguous && format != MemoryFormat::Preserve && is_contiguous(format)) return *this;
    if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d) {
      return Take(kuafu_tensor_new((int32_t)dim(), sizes().data(), FormatStrides(format).data(), kuafu_tensor_dtype(handle()), is_cuda() ? 0 : KUAFU_TENSOR_HOST)).copy_(*this);
    }
    return Take(kuafu_tensor_contiguous(handle()));
  }
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
  Tensor slice(int64_t d, int64_t start, int64_t end) const { return slice(d, std::optional<int64_t>(start), std::optional<int64_t>(end)); }
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
  Tensor slice(int64_t d, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step = 1) const {
    const size_t i = Dim(d);
    const int64_t n = sizes()[i];
    const auto clip = [n](int64_t at) { return at < -n ? 0 : at < 0 ? at + n : at > n ? n : at; };
    const int64_t first = clip(start.value_or(0)), last = clip(end.value_or(n));
    if (step < 1) kuafu::Raise("slice: the step must be positive");
    std::vector<int64_t> s = sizes().vec(), t = strides().vec();
    s[i] = last > first ? (last - first + step - 1) / step : 0;
    t[i] *= step;
    return as_strided(s, t, storage_offset() + (s[i] > 0 ? first : 0) * strides()[i]);
  }
  Tensor swapaxes(int64_t a, int64_t b) const { return transpose(a, b); }
  Tensor swapdims(int64_t a, int64_t b) const { return transpose(a, b); }
  Tensor mT() const { return transpose(-2, -1); }
  Tensor movedim(int64_t from, int64_t to) const {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < dim(); ++i) if (i != (int64_t)Dim(from)) order.push_back(i);
    order.insert(order.begin() + (int64_t)Dim(to), (int64_t)Dim(from));
    return permute(order);
  }
  Tensor unflatten(int64_t d, IntArrayRef shape) const {
    std::vector<int64_t> s = sizes().vec();
    const int64_t i = (int64_t)Dim(d);
    s.erase(s.begin() + i);
    s.insert(s.begin() + i, shape.begin(), shape.end());
    return view(s);
  }
  Tensor unfold(int64_t d, int64_t size, int64_t step) const {
    const size_t i = Dim(d);
    if (size < 0 || step < 1 || size > sizes()[i]) kuafu::Raise("unfold: the window does not fit");
    std::vector<int64_t> s = sizes().vec(), t = strides().vec();
    s.push_back(size);
    t.push_back(t[i]);
    s[i] = (s[i] - size) / step + 1;
    t[i] *= step;
    return as_strided(s, t);
  }
  std::vector<Tensor> split(int64_t size, int64_t d = 0) const {
    if (size < 1) kuafu::Raise("split: the size must be positive");
    std::vector<Tensor> parts;
    for (int64_t at = 0, n = this->size(d); at < n; at += size) parts.push_back(narrow(d, at, n - at < size ? n - at : size));
    return parts;
  }
  std::vector<Tensor> split(IntArrayRef sizes, int64_t d = 0) const { return split_with_sizes(sizes, d); }
  std::vector<Tensor> split_with_sizes(IntArrayRef sizes, int64_t d = 0) const {
    std::vector<Tensor> parts;
    int64_t at = 0;
    for (int64_t n : sizes) { parts.push_back(narrow(d, at, n)); at += n; }
    return parts;
  }
  std::vector<Tensor> chunk(int64_t count, int64_t d = 0) const {
    if (count < 1) kuafu::Raise("chunk: the number must be positive");
    const int64_t n = (size(d) + count - 1) / count;
    return split(n > 0 ? n : 1, d);
  }
  std::vector<Tensor> unbind(int64_t d = 0) const {
    std::vector<Tensor> parts;
    for (int64_t i = 0, n = size(d); i < n; ++i) parts.push_back(select(d, i));
    return parts;
  }
  Tensor index(ArrayRef<indexing::TensorIndex> at) const;
  const Tensor& index_put_(ArrayRef<indexing::TensorIndex> at, const Tensor& v) const { index(at).copy_(v.expand_as(index(at))); return *this; }
  const Tensor& index_put_(ArrayRef<indexing::TensorIndex> at, const Scalar& v) const { index(at).fill_(v); return *this; }
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
  const Tensor& fill_(const Scalar& v) const { return fill_(v.toDouble()); }
  const Tensor& zero_() const { return fill_(0.0); }
  const Tensor& copy_(const Tensor& from, bool = false) const {
    if (kuafu_tensor_copy(handle(), from.handle()) < 0) kuafu::Raise(kuafu_tensor_error());
    return *this;
  }
  Tensor clone(MemoryFormat) const { return clone(); }
  Tensor clone() const { return Take(kuafu_tensor_to_dtype(handle(), (int32_t)scalar_type())); }
  Tensor detach() const { return *this; }
  Tensor detach_() const { return *this; }
  Tensor alias() const { return *this; }
  Tensor to(ScalarType t) const { return t == scalar_type() ? *this : Take(kuafu_tensor_to_dtype(handle(), (int32_t)t)); }
  Tensor to(ScalarType t, bool, bool copy = false) const { return copy && t == scalar_type() ? clone() : to(t); }
  Tensor to(TypeMeta t) const { return to((ScalarType)t); }
  Tensor to(const TensorOptions& o, bool = false, bool = false) const { return (o.has_place ? to(o.place) : *this).to(o.has_type ? o.type : scalar_type()); }
  Tensor to(Device d, bool = false) const { return d.is_cpu() ? cpu() : cuda(); }
  Tensor to(DeviceType d, bool = false) const { return to(Device(d)); }
  Tensor to(Device d, ScalarType t, bool = false, bool = false) const { return to(d).to(t); }
  Tensor to(const Tensor& o) const { return to(o.device()).to(o.scalar_type()); }
  Tensor toType(ScalarType t) const { return to(t); }
  Tensor type_as(const Tensor& o) const { return to(o); }
  Tensor cuda(int = 0, bool = false) const { return is_cuda() ? *this : Take(kuafu_tensor_to_place(handle(), 0)); }
  Tensor musa() const { return cuda(); }
  Tensor cpu() const { return is_cuda() ? Take(kuafu_tensor_to_place(handle(), 1)) : *this; }
  Tensor pin_memory() const { return *this; }
  Tensor new_empty(IntArrayRef s, const TensorOptions& o) const;
  Tensor new_zeros(IntArrayRef s, const TensorOptions& o) const;
  Tensor new_ones(IntArrayRef s, const TensorOptions& o) const;
  Tensor new_full(IntArrayRef s, const Scalar& v, const TensorOptions& o) const;
  Tensor new_empty(IntArrayRef s) const { return new_empty(s, options()); }
  Tensor new_zeros(IntArrayRef s) const { return new_zeros(s, options()); }
  Tensor new_ones(IntArrayRef s) const { return new_ones(s, options()); }
  Tensor new_full(IntArrayRef s, const Scalar& v) const { return new_full(s, v, options()); }

  // What only a library does; see library.h.
  using Any = kuafu::Any;
#define KUAFU_OPERATOR(name, required, kinds) KUAFU_METHOD_##kinds(name, required)
#include "kuafu/library_ops.inc"
#undef KUAFU_OPERATOR
  Tensor max() const { kuafu_library_call("at::max"); }
  Tensor max(const Tensor&) const { kuafu_library_call("at::max"); }
  std::tuple<Tensor, Tensor> max(int64_t, bool = false) const { kuafu_library_call("at::max"); }
  Tensor min() const { kuafu_library_call("at::min"); }
  Tensor min(const Tensor&) const { kuafu_library_call("at::min"); }
  std::tuple<Tensor, Tensor> min(int64_t, bool = false) const { kuafu_library_call("at::min"); }
  bool equal(const Tensor&) const { kuafu_library_call("at::equal"); }
  bool allclose(const Tensor&, double = 0, double = 0, bool = false) const { kuafu_library_call("at::allclose"); }
  Tensor& operator+=(Any) { kuafu_library_call("at::add_"); }
  Tensor& operator-=(Any) { kuafu_library_call("at::sub_"); }
  Tensor& operator*=(Any) { kuafu_library_call("at::mul_"); }
  Tensor& operator/=(Any) { kuafu_library_call("at::div_"); }
  Tensor operator-() const { kuafu_library_call("at::neg"); }
  Tensor operator~() const { kuafu_library_call("at::bitwise_not"); }
  Tensor operator[](const Tensor&) const { kuafu_library_call("at::index"); }

 private:
  size_t Dim(int64_t i) const {
    const int64_t n = dim();
    if (i < -n || i >= n) kuafu::RaiseNumbers("dimension ", i, " is out of range for a tensor of ", n, " dimensions");
    return (size_t)(i < 0 ? i + n : i);
  }
  // Of a dense tensor whose channels, the second dimension, lie innermost.
  std::vector<int64_t> FormatStrides(MemoryFormat format) const {
    const int64_t n = dim();
    if (n != (format == MemoryFormat::ChannelsLast3d ? 5 : 4)) kuafu::Raise("a channels-last tensor must have 4 dimensions, or 5 for three of space");
    std::vector<int64_t> t((size_t)n);
    t[1] = 1;
    int64_t step = sizes()[1];
    for (int64_t i = n - 1; i > 1; --i) { t[i] = step; step *= sizes()[i]; }
    t[0] = step;
    return t;
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

inline Tensor Make(IntArrayRef s, const int64_t* strides, const TensorOptions& o, uint32_t flags) {
  return Tensor::Take(kuafu_tensor_new((int32_t)s.size(), s.data(), strides, (int32_t)o.type, flags | (o.place.is_cpu() ? KUAFU_TENSOR_HOST : 0)));
}
inline Tensor empty_strided(IntArrayRef s, IntArrayRef t, const TensorOptions& o = {}) {
  if (s.size() != t.size()) kuafu::Raise("empty_strided: as many strides as sizes are needed");
  return Make(s, t.data(), o, KUAFU_TENSOR_UNINIT);
}
inline Tensor empty(IntArrayRef s, const TensorOptions& o = {}) { return Make(s, nullptr, o, KUAFU_TENSOR_UNINIT); }
inline Tensor empty(IntArrayRef s, const TensorOptions& o, std::optional<MemoryFormat>) { return empty(s, o); }
inline Tensor zeros(IntArrayRef s, const TensorOptions& o = {}) { return Make(s, nullptr, o, KUAFU_TENSOR_ZERO); }
inline Tensor empty(IntArrayRef s, ScalarType t, std::optional<Layout>, std::optional<Device> d, std::optional<bool>, std::optional<MemoryFormat> = std::nullopt) { return empty(s, TensorOptions(t).device(d)); }
inline Tensor full(IntArrayRef s, const Scalar& v, const TensorOptions& o) {
  return empty(s, o.has_type || v.isFloatingPoint() ? o : o.dtype(v.type())).fill_(v);
}
inline Tensor full(IntArrayRef s, const Scalar& v) { return full(s, v, TensorOptions()); }
inline Tensor ones(IntArrayRef s, const TensorOptions& o = {}) { return empty(s, o).fill_(1.0); }
inline TensorOptions Merge(const Tensor& t, const TensorOptions& o) {
  return (o.has_place ? o : o.device(t.device())).dtype(o.has_type ? o.type : t.scalar_type());
}
inline Tensor empty_like(const Tensor& t) { return empty(t.sizes(), t.options()); }
inline Tensor empty_like(const Tensor& t, const TensorOptions& o, std::optional<MemoryFormat> = std::nullopt) { return empty(t.sizes(), Merge(t, o)); }
inline Tensor zeros_like(const Tensor& t, const TensorOptions& o = {}) { return zeros(t.sizes(), Merge(t, o)); }
inline Tensor ones_like(const Tensor& t, const TensorOptions& o = {}) { return ones(t.sizes(), Merge(t, o)); }
inline Tensor full_like(const Tensor& t, const Scalar& v, const TensorOptions& o = {}) { return empty(t.sizes(), Merge(t, o)).fill_(v); }
inline Tensor Tensor::new_empty(IntArrayRef s, const TensorOptions& o) const { return empty(s, Merge(*this, o)); }
inline Tensor Tensor::new_zeros(IntArrayRef s, const TensorOptions& o) const { return zeros(s, Merge(*this, o)); }
inline Tensor Tensor::new_ones(IntArrayRef s, const TensorOptions& o) const { return ones(s, Merge(*this, o)); }
inline Tensor Tensor::new_full(IntArrayRef s, const Scalar& v, const TensorOptions& o) const { return empty(s, Merge(*this, o)).fill_(v); }
// Values that the host has.
inline Tensor FromHost(const void* data, IntArrayRef sizes, ScalarType own, const TensorOptions& o) {
  Tensor t = empty(sizes, o.dtype(own));
  const auto kind = t.is_cuda() ? KUAFU_RUNTIME(MemcpyHostToDevice) : KUAFU_RUNTIME(MemcpyHostToHost);
  if (t.numel() > 0 && KUAFU_RUNTIME(Memcpy)(t.data_ptr(), data, t.nbytes(), kind) != cudaSuccess)
    kuafu::Raise("tensor: the values cannot be copied");
  return o.has_type ? t.to(o.type) : t;
}
template <class T> inline Tensor tensor(ArrayRef<T> v, const TensorOptions& o = {}) {
  const Tensor t = FromHost(v.data(), {(int64_t)v.size()}, CppTypeToScalarType<T>::value, o);
  return o.has_type || std::is_integral_v<T> ? t : t.to(ScalarType::Float);
}
template <class T> inline Tensor tensor(std::initializer_list<T> v, const TensorOptions& o = {}) { return tensor(ArrayRef<T>(v), o); }
template <class T> inline Tensor tensor(const std::vector<T>& v, const TensorOptions& o = {}) { return tensor(ArrayRef<T>(v), o); }
inline Tensor scalar_tensor(const Scalar& v, const TensorOptions& o = {}) { return full({}, v, o); }
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> inline Tensor tensor(T v, const TensorOptions& o = {}) { return scalar_tensor(v, o); }
inline Tensor arange(const Scalar& begin, const Scalar& end, const Scalar& step, const TensorOptions& o = {}) {
  const bool real = begin.isFloatingPoint() || end.isFloatingPoint() || step.isFloatingPoint();
  std::vector<double> v;
  if (step.toDouble() == 0) kuafu::Raise("arange: the step must not be zero");
  const double span = (end.toDouble() - begin.toDouble()) / step.toDouble();
  for (int64_t i = 0; (double)i < span; ++i) v.push_back(begin.toDouble() + (double)i * step.toDouble());
  return FromHost(v.data(), {(int64_t)v.size()}, ScalarType::Double, o.has_type ? o : o.dtype(real ? ScalarType::Float : ScalarType::Long));
}
inline Tensor arange(const Scalar& begin, const Scalar& end, const TensorOptions& o = {}) { return arange(begin, end, 1, o); }
inline Tensor arange(const Scalar& end, const TensorOptions& o = {}) { return arange(0, end, 1, o); }
inline Tensor from_blob(void*, IntArrayRef, const TensorOptions& = {}) { kuafu::Raise("from_blob is not available: create the tensor and pass its data_ptr"); }

// Indices of Tensor::index: numbers, slices, None and "...".
namespace indexing {
inline Slice::Slice(std::optional<int64_t> first, std::optional<int64_t> last, std::optional<int64_t> by) : start(first), stop(last), step(by.value_or(1)) {}
}  // namespace indexing
inline Tensor Tensor::index(ArrayRef<indexing::TensorIndex> at) const {
  using Kind = indexing::TensorIndex::Kind;
  int64_t named = 0, d = 0;
  for (const auto& i : at) named += i.kind == Kind::kNumber || i.kind == Kind::kSlice;
  Tensor t = *this;
  for (const auto& i : at) {
    switch (i.kind) {
      case Kind::kNumber: t = t.select(d, i.number); break;
      case Kind::kSlice: t = t.slice(d, i.slice.start, i.slice.stop, i.slice.step); ++d; break;
      case Kind::kNone: t = t.unsqueeze(d); ++d; break;
      case Kind::kEllipsis: d += dim() - named; break;
      case Kind::kTensor: kuafu_library_call("at::index");
    }
  }
  return t;
}

// The same as functions.
inline Tensor transpose(const Tensor& t, int64_t a, int64_t b) { return t.transpose(a, b); }
inline Tensor t(const Tensor& x) { return x.t(); }
inline Tensor permute(const Tensor& t, IntArrayRef order) { return t.permute(order); }
inline Tensor reshape(const Tensor& t, IntArrayRef shape) { return t.reshape(shape); }
inline Tensor flatten(const Tensor& t, int64_t first = 0, int64_t last = -1) { return t.flatten(first, last); }
inline Tensor squeeze(const Tensor& t) { return t.squeeze(); }
inline Tensor squeeze(const Tensor& t, int64_t d) { return t.squeeze(d); }
inline Tensor unsqueeze(const Tensor& t, int64_t d) { return t.unsqueeze(d); }
inline Tensor narrow(const Tensor& t, int64_t d, int64_t start, int64_t length) { return t.narrow(d, start, length); }
inline Tensor select(const Tensor& t, int64_t d, int64_t i) { return t.select(d, i); }
inline Tensor slice(const Tensor& t, int64_t d, std::optional<int64_t> a, std::optional<int64_t> b, int64_t step = 1) { return t.slice(d, a, b, step); }
inline Tensor clone(const Tensor& t) { return t.clone(); }
inline Tensor detach(const Tensor& t) { return t; }
inline Tensor as_strided(const Tensor& t, IntArrayRef sizes, IntArrayRef strides) { return t.as_strided(sizes, strides); }
inline std::vector<Tensor> split(const Tensor& t, int64_t size, int64_t d = 0) { return t.split(size, d); }
inline std::vector<Tensor> chunk(const Tensor& t, int64_t n, int64_t d = 0) { return t.chunk(n, d); }
inline std::vector<Tensor> unbind(const Tensor& t, int64_t d = 0) { return t.unbind(d); }
inline int64_t numel(const Tensor& t) { return t.numel(); }
inline bool is_floating_point(const Tensor& t) { return t.is_floating_point(); }
inline ScalarType promote_types(ScalarType a, ScalarType b) { return isFloatingType(b) && !isFloatingType(a) ? b : a > b && isFloatingType(a) == isFloatingType(b) ? a : isFloatingType(a) ? a : b; }
using TensorList = ArrayRef<Tensor>;
using OptionalIntArrayRef = std::optional<IntArrayRef>;
using OptionalTensorRef = std::optional<Tensor>;
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions dtype(TypeMeta t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions device(DeviceType d) { return TensorOptions(d); }
inline TensorOptions requires_grad(bool = true) { return {}; }
inline TensorOptions layout(Layout) { return {}; }

constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char, kInt8 = ScalarType::Char,
    kShort = ScalarType::Short, kInt16 = ScalarType::Short, kInt = ScalarType::Int, kInt32 = ScalarType::Int,
    kLong = ScalarType::Long, kInt64 = ScalarType::Long, kHalf = ScalarType::Half, kFloat16 = ScalarType::Half,
    kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kDouble = ScalarType::Double, kFloat64 = ScalarType::Double,
    kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMUSA = kKuafuDevice, kPrivateUse1 = DeviceType::PrivateUse1;

}  // namespace at

namespace torch {
using namespace at;
using Dtype = at::ScalarType;
using at::Tensor;
using at::Half;
using at::BFloat16;
namespace headeronly { using namespace c10; }
namespace indexing = at::indexing;
}  // namespace torch
