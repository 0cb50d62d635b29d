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

inline const char* KindName(int kind) {
  static const char* const names[] = {"none", "a tensor", "an integer", "a real number", "a boolean", "a list of integers", "a list of tensors"};
  return kind >= 0 && kind < 7 ? names[kind] : "an unknown kind";
}
inline void Fail(KuafuCall* call, int status, const char* text) {
  call->status = status;
  call->result_count = 0;
  if (call->error == nullptr || call->error_capacity < 1) return;
  int i = 0;
  for (; text[i] != 0 && i + 1 < call->error_capacity; ++i) call->error[i] = text[i];
  call->error[i] = 0;
}

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

inline void Pack(KuafuCall* call, const at::Tensor& t) {
  if (!t.defined()) Raise("the entry function returned an undefined tensor");
  if (call->result_count >= call->result_capacity) RaiseNumbers("the entry function returned more than ", call->result_capacity, " tensors, namely ", call->result_count + 1, "");
  call->results[call->result_count++] = kuafu_tensor_retain(t.handle());
}
template <class T> inline void Pack(KuafuCall* call, const std::vector<T>& list) { for (const T& t : list) Pack(call, t); }
template <class... T> inline void Pack(KuafuCall* call, const std::tuple<T...>& all) {
  std::apply([&](const auto&... t) { (Pack(call, t), ...); }, all);
}
template <class A, class B> inline void Pack(KuafuCall* call, const std::pair<A, B>& two) {
  Pack(call, two.first);
  Pack(call, two.second);
}

// Both without templates, since every candidate compiles what it calls.
inline bool CountMatches(KuafuCall* call, int parameters) {
  if (call->argument_count == parameters) return true;
  char text[160];
  snprintf(text, sizeof text, "the entry function takes %d parameters but %d values are passed", parameters, call->argument_count);
  Fail(call, KUAFU_CALL_MISMATCH, text);
  return false;
}
inline bool KindMatches(KuafuCall* call, int index, bool matches, const char* want) {
  if (matches) return true;
  char text[256];
  snprintf(text, sizeof text, "parameter %d of the entry function wants %s but %s is passed", index, want, KindName(call->arguments[index].kind));
  Fail(call, KUAFU_CALL_MISMATCH, text);
  return false;
}

template <class P> using Bare = std::remove_cv_t<std::remove_reference_t<P>>;
// A temporary as an lvalue, for parameters that are references; it lives until the call has returned.
template <class T> T& Named(T&& value) { return value; }
template <class R, class... P, size_t... I>
void InvokeUnpacked(R (*function)(P...), KuafuCall* call, std::index_sequence<I...>) {
  if (!CountMatches(call, (int)sizeof...(P))) return;
  if (!(KindMatches(call, (int)I, Convert<Bare<P>>::Matches(call->arguments[I]), Convert<Bare<P>>::kWant) && ...)) return;
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
    for (int i = 0; i < call->result_count; ++i) kuafu_tensor_release(call->results[i]);
    Fail(call, KUAFU_CALL_THREW, e.what());
  } catch (...) {
    for (int i = 0; i < call->result_count; ++i) kuafu_tensor_release(call->results[i]);
    Fail(call, KUAFU_CALL_THREW, "the entry function threw something that is not a std::exception");
  }
#endif
}

}  // namespace kuafu
