// SPDX-License-Identifier: Apache-2.0
// Calls a candidate's function from a plain C argument array. The compiler appends
//   extern "C" void kuafu_entry(KuafuCall* c) { kuafu::Invoke(&f, c); }
// to a source that stands alone; an extension binds its functions itself (pybind.h). A function may have any
// of the parameter types below. The runner does what it can, since every candidate compiles what is here.
#pragma once

#include <array>

#include "kuafu/tensor.h"

namespace kuafu {

// Convert<P> turns a value into parameter type P (without const and &); kAccepts says which values it can.
template <class P, class = void> struct Convert {
  static_assert(sizeof(P) == 0, "kuafu: the function has a parameter of a type that cannot be passed: use torch::Tensor, "
                                "std::optional<torch::Tensor>, int, int64_t, float, double, bool, std::string, std::vector<int64_t> or std::vector<torch::Tensor>");
};
constexpr uint32_t Accept(int kind) { return 1u << kind; }
constexpr uint32_t kAcceptInt = Accept(KUAFU_INT) | Accept(KUAFU_BOOLEAN);

template <> struct Convert<at::Tensor> {
  static constexpr uint32_t kAccepts = Accept(KUAFU_TENSOR);
  static at::Tensor Get(const KuafuValue& v) { return at::Tensor::Take(kuafu_tensor_retain(v.tensor)); }
};
template <class T> struct Convert<T, std::enable_if_t<std::is_arithmetic_v<T>>> {
  static constexpr uint32_t kAccepts = std::is_same_v<T, bool>       ? kAcceptInt
                                       : std::is_floating_point_v<T> ? kAcceptInt | Accept(KUAFU_REAL)
                                                                     : kAcceptInt | KUAFU_ACCEPT_WHOLE;
  static T Get(const KuafuValue& v) { return v.kind == KUAFU_REAL ? (T)v.real : (T)v.integer; }
};
template <> struct Convert<at::ScalarType> {
  static constexpr uint32_t kAccepts = Accept(KUAFU_INT);
  static at::ScalarType Get(const KuafuValue& v) { return (at::ScalarType)v.integer; }
};
template <> struct Convert<at::Scalar> {
  static constexpr uint32_t kAccepts = kAcceptInt | Accept(KUAFU_REAL);
  static at::Scalar Get(const KuafuValue& v) {
    if (v.kind == KUAFU_REAL) return v.real;
    return v.kind == KUAFU_INT ? at::Scalar(v.integer) : at::Scalar(v.integer != 0);
  }
};
template <class T> struct Convert<std::optional<T>> {
  static constexpr uint32_t kAccepts = Convert<T>::kAccepts | Accept(KUAFU_NONE);
  static std::optional<T> Get(const KuafuValue& v) {
    if (v.kind == KUAFU_NONE) return std::nullopt;
    return Convert<T>::Get(v);
  }
};
template <> struct Convert<std::string> {
  static constexpr uint32_t kAccepts = Accept(KUAFU_STRING);
  static std::string Get(const KuafuValue& v) { return std::string(v.string, (size_t)v.count); }
};
template <> struct Convert<std::string_view> {
  static constexpr uint32_t kAccepts = Accept(KUAFU_STRING);
  static std::string_view Get(const KuafuValue& v) { return {v.string, (size_t)v.count}; }
};
// With a NUL at the end, for as long as the call takes.
struct CharPointer {
  std::string text;
  operator const char*() const { return text.c_str(); }
};
template <> struct Convert<const char*> {
  static constexpr uint32_t kAccepts = Accept(KUAFU_STRING);
  static CharPointer Get(const KuafuValue& v) { return {std::string(v.string, (size_t)v.count)}; }
};
template <> struct Convert<at::Device> {
  static constexpr uint32_t kAccepts = Accept(KUAFU_STRING);
  static at::Device Get(const KuafuValue& v) { return at::Device(std::string(v.string, (size_t)v.count)); }
};

// An element of a list.
template <class T> struct Element {
  static_assert(std::is_arithmetic_v<T>, "kuafu: the function takes a list of elements that cannot be passed: use integers, real numbers or tensors");
  static constexpr uint32_t kAccepts = Accept(KUAFU_INT_LIST) | (std::is_floating_point_v<T> ? Accept(KUAFU_REAL_LIST) : 0u);
  static T Get(const KuafuValue& v, int i) { return v.kind == KUAFU_REAL_LIST ? (T)v.reals[i] : (T)v.integers[i]; }
};
template <> struct Element<at::Tensor> {
  static constexpr uint32_t kAccepts = Accept(KUAFU_TENSOR_LIST);
  static at::Tensor Get(const KuafuValue& v, int i) { return at::Tensor::Take(kuafu_tensor_retain(v.tensors[i])); }
};
template <class T> struct Convert<std::vector<T>> {
  static constexpr uint32_t kAccepts = Element<T>::kAccepts;
  static std::vector<T> Get(const KuafuValue& v) {
    std::vector<T> list;
    list.reserve((size_t)v.count);
    for (int i = 0; i < v.count; ++i) list.push_back(Element<T>::Get(v, i));
    return list;
  }
};
// Borrowed for the call. A tensor is its handle and nothing else.
template <> struct Convert<c10::IntArrayRef> {
  static constexpr uint32_t kAccepts = Accept(KUAFU_INT_LIST);
  static c10::IntArrayRef Get(const KuafuValue& v) { return {v.integers, (size_t)v.count}; }
};
template <> struct Convert<c10::ArrayRef<double>> {
  static constexpr uint32_t kAccepts = Accept(KUAFU_REAL_LIST);
  static c10::ArrayRef<double> Get(const KuafuValue& v) { return {v.reals, (size_t)v.count}; }
};
template <> struct Convert<at::TensorList> {
  static_assert(sizeof(at::Tensor) == sizeof(KuafuTensor*));
  static constexpr uint32_t kAccepts = Accept(KUAFU_TENSOR_LIST);
  static at::TensorList Get(const KuafuValue& v) { return {(const at::Tensor*)v.tensors, (size_t)v.count}; }
};
constexpr uint32_t AcceptLength(size_t n) { return (uint32_t)n << KUAFU_ACCEPT_LENGTH_SHIFT; }
template <class T, size_t N> struct Convert<std::array<T, N>> {
  static constexpr uint32_t kAccepts = Element<T>::kAccepts | AcceptLength(N);
  static std::array<T, N> Get(const KuafuValue& v) {
    std::array<T, N> list;
    for (size_t i = 0; i < N; ++i) list[i] = Element<T>::Get(v, (int)i);
    return list;
  }
};
template <class... T> struct Convert<std::tuple<T...>> {
  static constexpr uint32_t kAccepts = (Element<T>::kAccepts | ...) | AcceptLength(sizeof...(T));
  template <size_t... I> static std::tuple<T...> All(const KuafuValue& v, std::index_sequence<I...>) { return {Element<T>::Get(v, (int)I)...}; }
  static std::tuple<T...> Get(const KuafuValue& v) { return All(v, std::index_sequence_for<T...>()); }
};
template <class A, class B> struct Convert<std::pair<A, B>> {
  static constexpr uint32_t kAccepts = Element<A>::kAccepts | Element<B>::kAccepts | AcceptLength(2);
  static std::pair<A, B> Get(const KuafuValue& v) { return {Element<A>::Get(v, 0), Element<B>::Get(v, 1)}; }
};

// Results. Each sets the form of the whole, so that the outermost has the last word.
inline void Pack(KuafuCall* call, const at::Tensor& t) {
  kuafu_call_return(call, t.defined() ? t.handle() : nullptr);
  call->result_form = KUAFU_RESULT_SINGLE;
}
template <class T> inline std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>> Pack(KuafuCall* call, T v) {
  if constexpr (std::is_floating_point_v<T>) kuafu_call_return_number(call, KUAFU_REAL, 0, (double)v);
  else kuafu_call_return_number(call, std::is_same_v<T, bool> ? KUAFU_BOOLEAN : KUAFU_INT, (int64_t)v, 0);
  call->result_form = KUAFU_RESULT_SINGLE;
}
inline void Pack(KuafuCall* call, const at::Scalar& v) {
  v.isFloatingPoint() ? Pack(call, v.toDouble()) : v.isBoolean() ? Pack(call, v.toBool()) : Pack(call, v.toLong());
}
template <class T> inline void Pack(KuafuCall* call, const std::optional<T>& v) {
  if (v) return Pack(call, *v);
  kuafu_call_return(call, nullptr);
  call->result_form = KUAFU_RESULT_SINGLE;
}
template <class T> inline void Pack(KuafuCall* call, const std::vector<T>& list) {
  for (const T& t : list) Pack(call, t);
  call->result_form = KUAFU_RESULT_LIST;
}
template <class T, size_t N> inline void Pack(KuafuCall* call, const std::array<T, N>& list) {
  for (const T& t : list) Pack(call, t);
  call->result_form = KUAFU_RESULT_LIST;
}
template <class... T> inline void Pack(KuafuCall* call, const std::tuple<T...>& all) {
  std::apply([&](const auto&... t) { (Pack(call, t), ...); }, all);
  call->result_form = KUAFU_RESULT_TUPLE;
}
template <class A, class B> inline void Pack(KuafuCall* call, const std::pair<A, B>& two) {
  Pack(call, two.first);
  Pack(call, two.second);
  call->result_form = KUAFU_RESULT_TUPLE;
}
// Whether a result has others within.
template <class T> struct Several : std::false_type {};
template <class T> struct Several<std::vector<T>> : std::true_type {};
template <class T, size_t N> struct Several<std::array<T, N>> : std::true_type {};
template <class... T> struct Several<std::tuple<T...>> : std::true_type {};
template <class A, class B> struct Several<std::pair<A, B>> : std::true_type {};
template <class T> struct Nested : std::false_type {};
template <class T> struct Nested<std::vector<T>> : Several<T> {};
template <class... T> struct Nested<std::tuple<T...>> : std::bool_constant<(Several<T>::value || ...)> {};
template <class A, class B> struct Nested<std::pair<A, B>> : std::bool_constant<Several<A>::value || Several<B>::value> {};

template <class P> using Bare = std::remove_cv_t<std::remove_reference_t<P>>;
// A temporary as an lvalue, for parameters that are references; it lives until the call has returned.
template <class T> T& Named(T&& value) { return value; }
template <class F, class R, class... P, size_t... I>
void InvokeUnpacked(F&& function, KuafuCall* call, R (*)(P...), std::index_sequence<I...>) {
  if (!kuafu_call_count_matches(call, (int)sizeof...(P))) return;
  if (!(kuafu_call_accepts(call, (int)I, Convert<Bare<P>>::kAccepts) && ...)) return;
  if constexpr (std::is_void_v<R>) function(static_cast<P>(Named(Convert<Bare<P>>::Get(call->arguments[I])))...);
  else Pack(call, function(static_cast<P>(Named(Convert<Bare<P>>::Get(call->arguments[I])))...));
}

// Of a function's type only; its address comes as a void*.
template <class F> struct Signature;
template <class R, class... P> struct Signature<R (*)(P...)> {
  static void Run(void* f, KuafuCall* call) { InvokeUnpacked((R (*)(P...))f, call, (R (*)(P...))f, std::index_sequence_for<P...>()); }
};

template <class R, class... P> void Invoke(R (*function)(P...), KuafuCall* call) {
  kuafu_call_run(&Signature<R (*)(P...)>::Run, (void*)function, call);
}

}  // namespace kuafu
