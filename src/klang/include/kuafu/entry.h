// SPDX-License-Identifier: Apache-2.0
// Calls the candidate's entry function from a plain C argument array. The compiler appends
//   extern "C" void kuafu_entry(KuafuCall* c) { kuafu::Invoke(&f, c); }
// to the source, so that f may have any of the parameter types below.
#pragma once

#include "kuafu/tensor.h"

#ifndef KUAFU_DEVICE_PASS
#include <exception>
#endif

namespace kuafu {

// Convert<P> turns a value into parameter type P (without const and &); Matches says whether it can.
template <class P, class = void> struct Convert {
  static_assert(sizeof(P) == 0, "kuafu: the entry function has a parameter of a type that cannot be passed: use torch::Tensor, "
                                "std::optional<torch::Tensor>, int, int64_t, float, double, bool, std::vector<int64_t> or std::vector<torch::Tensor>");
};
template <> struct Convert<at::Tensor> {
  static constexpr const char* kWant = "a tensor";
  static bool Matches(const KuafuValue& v) { return v.kind == KUAFU_TENSOR; }
  static at::Tensor Get(const KuafuValue& v) { return at::Tensor::Take(kuafu_tensor_retain(v.tensor)); }
};
template <class T> struct Convert<T, std::enable_if_t<std::is_arithmetic_v<T>>> {
  static constexpr const char* kWant = std::is_same_v<T, bool> ? "a boolean" : std::is_integral_v<T> ? "an integer" : "a real number";
  static bool Matches(const KuafuValue& v) {
    if (v.kind == KUAFU_REAL) return std::is_floating_point_v<T> || (std::is_integral_v<T> && !std::is_same_v<T, bool> && v.real == (double)(int64_t)v.real);
    return v.kind == KUAFU_INT || v.kind == KUAFU_BOOLEAN;
  }
  static T Get(const KuafuValue& v) { return v.kind == KUAFU_REAL ? (T)v.real : (T)v.integer; }
};
template <class T> struct Convert<std::optional<T>> {
  static constexpr const char* kWant = Convert<T>::kWant;
  static bool Matches(const KuafuValue& v) { return v.kind == KUAFU_NONE || Convert<T>::Matches(v); }
  static std::optional<T> Get(const KuafuValue& v) {
    if (v.kind == KUAFU_NONE) return std::nullopt;
    return Convert<T>::Get(v);
  }
};
template <class T> struct Convert<std::vector<T>, std::enable_if_t<std::is_integral_v<T>>> {
  static constexpr const char* kWant = "a list of integers";
  static bool Matches(const KuafuValue& v) { return v.kind == KUAFU_INT_LIST; }
  static std::vector<T> Get(const KuafuValue& v) { return std::vector<T>(v.integers, v.integers + v.count); }
};
template <> struct Convert<c10::IntArrayRef> {
  static constexpr const char* kWant = "a list of integers";
  static bool Matches(const KuafuValue& v) { return v.kind == KUAFU_INT_LIST; }
  static c10::IntArrayRef Get(const KuafuValue& v) { return {v.integers, (size_t)v.count}; }
};
template <> struct Convert<std::vector<at::Tensor>> {
  static constexpr const char* kWant = "a list of tensors";
  static bool Matches(const KuafuValue& v) { return v.kind == KUAFU_TENSOR_LIST; }
  static std::vector<at::Tensor> Get(const KuafuValue& v) {
    std::vector<at::Tensor> list;
    for (int i = 0; i < v.count; ++i) list.push_back(at::Tensor::Take(kuafu_tensor_retain(v.tensors[i])));
    return list;
  }
};
template <> struct Convert<std::string> {
  static constexpr const char* kWant = "nothing: strings cannot be passed";
  static bool Matches(const KuafuValue&) { return false; }
  static std::string Get(const KuafuValue&) { return {}; }
};

inline void Pack(KuafuCall* call, const at::Tensor& t) { kuafu_call_return(call, t.defined() ? t.handle() : nullptr); }
template <class T> inline void Pack(KuafuCall* call, const std::vector<T>& list) { for (const T& t : list) Pack(call, t); }
template <class... T> inline void Pack(KuafuCall* call, const std::tuple<T...>& all) {
  std::apply([&](const auto&... t) { (Pack(call, t), ...); }, all);
}
template <class A, class B> inline void Pack(KuafuCall* call, const std::pair<A, B>& two) {
  Pack(call, two.first);
  Pack(call, two.second);
}

template <class P> using Bare = std::remove_cv_t<std::remove_reference_t<P>>;
// A temporary as an lvalue, for parameters that are references; it lives until the call has returned.
template <class T> T& Named(T&& value) { return value; }
template <class R, class... P, size_t... I>
void InvokeUnpacked(R (*function)(P...), KuafuCall* call, std::index_sequence<I...>) {
  if (!kuafu_call_count_matches(call, (int)sizeof...(P))) return;
  if (!(kuafu_call_kind_matches(call, (int)I, Convert<Bare<P>>::Matches(call->arguments[I]), Convert<Bare<P>>::kWant) && ...)) return;
  if constexpr (std::is_void_v<R>) function(static_cast<P>(Named(Convert<Bare<P>>::Get(call->arguments[I])))...);
  else Pack(call, function(static_cast<P>(Named(Convert<Bare<P>>::Get(call->arguments[I])))...));
}

template <class R, class... P> void Invoke(R (*function)(P...), KuafuCall* call) {
  call->status = KUAFU_CALL_OK;
  call->result_count = 0;
#ifndef KUAFU_DEVICE_PASS
  try {
    InvokeUnpacked(function, call, std::index_sequence_for<P...>());
    return;
  } catch (const std::exception& e) {
    kuafu_call_fail(call, KUAFU_CALL_THREW, e.what());
  } catch (...) {
    kuafu_call_fail(call, KUAFU_CALL_THREW, "the entry function threw something that is not a std::exception");
  }
#endif
}

}  // namespace kuafu
