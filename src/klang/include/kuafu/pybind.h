// SPDX-License-Identifier: Apache-2.0
// pybind11 as far as extensions use it. In a candidate that stands alone and for the device the module's body
// is parsed and never run: PYBIND11_MODULE makes a Unread of its m. In the host half of an extension it is
// KUAFU_PYBIND11_MODULE, and m.def passes functions on to the runner (tensor_abi.h).
#pragma once

#include "kuafu/entry.h"
#include "kuafu/tensor.h"

namespace pybind11 {
class module_;
}

namespace kuafu {
struct Unread {
  template <class... A> Unread& def(const A&...) { return *this; }
  template <class... A> Unread& impl(const A&...) { return *this; }
  template <class T> Unread& operator=(const T&) { return *this; }
  Unread& doc() { return *this; }
  template <class T> Unread& attr(const T&) { return *this; }
  template <class... A> Unread& def_submodule(const A&...) { return *this; }
  operator pybind11::module_&() const;
};
// m.doc() = "...", m.attr("...") = ...: forgotten.
struct Forgotten {
  template <class T> Forgotten& operator=(const T&) { return *this; }
};

// How often a function is bound must cost little: one instance for each type of function.
template <class R, class... P> void InvokeFunction(void* f, KuafuCall* call) {
  static_assert(!Nested<R>::value, "kuafu: a function returns a list or tuple within another: return its tensors one after another");
  kuafu_call_run(&Signature<R (*)(P...)>::Run, f, call);
}
template <class F, class R, class... P> struct CallableSignature {
  static constexpr int kCount = (int)sizeof...(P);
  static void Run(void* f, KuafuCall* call) { InvokeUnpacked(*(F*)f, call, (R(*)(P...))nullptr, std::index_sequence_for<P...>()); }
  static void Invoke(void* f, KuafuCall* call) { kuafu_call_run(&Run, f, call); }
};
template <class F, class M> struct MemberSignature;
template <class F, class R, class C, class... P> struct MemberSignature<F, R (C::*)(P...)> : CallableSignature<F, R, P...> {};
template <class F, class R, class C, class... P> struct MemberSignature<F, R (C::*)(P...) const> : CallableSignature<F, R, P...> {};
}  // namespace kuafu

namespace pybind11 {
struct extra {};
struct none : extra {};
template <class... T> struct call_guard : extra {};
struct gil_scoped_release {};
struct gil_scoped_acquire {};
struct kw_only : extra {};
struct pos_only : extra {};
template <size_t, size_t> struct keep_alive : extra {};
struct name : extra { explicit name(const char*) {} };
struct doc : extra { explicit doc(const char*) {} };
enum class return_value_policy : uint8_t { automatic, automatic_reference, take_ownership, copy, move, reference, reference_internal };
class error_already_set : public std::runtime_error { using runtime_error::runtime_error; };
using value_error = std::runtime_error;
using type_error = std::runtime_error;
using index_error = std::runtime_error;

struct arg {
  KuafuParameter row = {};
  explicit constexpr arg(const char* name) { row.name = name; }
  arg& noconvert(bool = true) { return *this; }
  arg& none(bool = true) { return *this; }
  template <class T> arg operator=(const T& v) const {
    arg a = *this;
    a.row.has_default = 1;
    Set(a.row.value, v);
    return a;
  }

 private:
  static void Set(KuafuValue& to, bool v) { to.kind = KUAFU_BOOLEAN; to.integer = v; }
  template <class T> static std::enable_if_t<std::is_integral_v<T>> Set(KuafuValue& to, T v) { to.kind = KUAFU_INT; to.integer = (int64_t)v; }
  static void Set(KuafuValue& to, double v) { to.kind = KUAFU_REAL; to.real = v; }
  static void Set(KuafuValue& to, at::ScalarType v) { to.kind = KUAFU_INT; to.integer = (int)v; }
  static void Set(KuafuValue& to, const at::Scalar& v) { v.isFloatingPoint() ? Set(to, v.toDouble()) : v.isBoolean() ? Set(to, v.toBool()) : Set(to, v.toLong()); }
  static void Set(KuafuValue&, std::nullopt_t) {}
  static void Set(KuafuValue&, std::nullptr_t) {}
  static void Set(KuafuValue&, pybind11::none) {}
  static void Set(KuafuValue& to, const char* v) { to.kind = KUAFU_STRING; to.string = v; to.count = (int32_t)__builtin_strlen(v); }
  static void Set(KuafuValue& to, const std::string& v) { Set(to, v.c_str()); }
  static void Set(KuafuValue& to, const std::vector<int64_t>& v) { to.kind = KUAFU_INT_LIST; to.integers = v.data(); to.count = (int32_t)v.size(); }
  static void Set(KuafuValue& to, const std::vector<double>& v) { to.kind = KUAFU_REAL_LIST; to.reals = v.data(); to.count = (int32_t)v.size(); }
  static void Set(KuafuValue& to, const std::optional<at::Tensor>& v) { if (v && v->defined()) kuafu::Raise("a default value of a parameter must not be a tensor"); }
  template <class T> static void Set(KuafuValue& to, const std::optional<T>& v) { if (v) Set(to, *v); }
};
struct arg_v : arg {
  template <class T> arg_v(const char* name, const T& v) : arg(arg(name) = v) {}
};
namespace literals {
constexpr arg operator""_a(const char* name, size_t) { return arg(name); }
}  // namespace literals

class module_ {
 public:
  explicit module_(KuafuModule* handle) : handle_(handle) {}
  // Its functions have names with a dot.
  module_ def_submodule(const char* name, const char* = nullptr) const {
    module_ inner(handle_);
    inner.prefix_ = prefix_ + name + ".";
    return inner;
  }
  template <class R, class... P, class... X> module_& def(const char* name, R (*f)(P...), const X&... extra) {
    return Add<sizeof...(P)>(name, &kuafu::InvokeFunction<R, P...>, (void*)f, extra...);
  }
  // A lambda, whose copy lives as long as the module does.
  template <class F, class... X> std::enable_if_t<std::is_class_v<F>, module_&> def(const char* name, F f, const X&... extra) {
    using S = kuafu::MemberSignature<F, decltype(&F::operator())>;
    return Add<(size_t)S::kCount>(name, &S::Invoke, new F(f), extra...);
  }
  kuafu::Forgotten doc() { return {}; }
  kuafu::Forgotten attr(const char*) { return {}; }

 private:
  template <size_t N, class... X> module_& Add(const char* name, KuafuInvoker invoke, void* f, const X&... extra) {
    constexpr size_t named = (0 + ... + (size_t)std::is_base_of_v<arg, X>);
    static_assert(named == 0 || named == N, "kuafu: a function has another number of parameters than py::arg names");
    KuafuParameter rows[N + 1] = {};
    [[maybe_unused]] KuafuParameter* row = rows;
    (Put(row, extra), ...);
    kuafu_module_def(handle_, prefix_.empty() ? name : (prefix_ + name).c_str(), invoke, f, (int32_t)N, rows);
    return *this;
  }
  static void Put(KuafuParameter*& row, const arg& a) { *row++ = a.row; }
  static void Put(KuafuParameter*&, const extra&) {}
  static void Put(KuafuParameter*&, const char*) {}
  static void Put(KuafuParameter*&, return_value_policy) {}
  KuafuModule* handle_;
  std::string prefix_;
};
using module = module_;
}  // namespace pybind11
namespace py = pybind11;
namespace torch {
namespace py = pybind11;
// Without the interpreter's lock, which nobody holds here.
template <class F> F wrap_pybind_function(F f) { return f; }
template <class F> F wrap_pybind_function_no_gil(F f) { return f; }
}  // namespace torch

#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME kuafu_extension
#endif
#define KUAFU_CAT_(a, b) a##b
#define KUAFU_CAT(a, b) KUAFU_CAT_(a, b)
#define PYBIND11_MODULE(name, m) [[maybe_unused]] static void KUAFU_CAT(kuafu_pybind_, name)(::kuafu::Unread& m)
#define TORCH_LIBRARY(name, m) [[maybe_unused]] static void KUAFU_CAT(kuafu_library_, name)(::kuafu::Unread& m)
#define TORCH_LIBRARY_FRAGMENT TORCH_LIBRARY
#define TORCH_LIBRARY_IMPL(name, key, m) [[maybe_unused]] static void KUAFU_CAT(kuafu_impl_##key##_, name)(::kuafu::Unread& m)
// A unit of an extension: these take the place of the four above.
#ifdef KUAFU_DEVICE_PASS
#define KUAFU_PYBIND11_MODULE(name, m) [[maybe_unused]] static void KUAFU_CAT(kuafu_pybind_, name)(::kuafu::Unread& m)
#else
#define KUAFU_PYBIND11_MODULE(name, m)                                                                     \
  static void kuafu_define_module(::pybind11::module_&);                                                   \
  extern "C" void kuafu_extension(KuafuModule* kuafu_module_) {                                            \
    ::pybind11::module_ kuafu_bound_(kuafu_module_);                                                       \
    kuafu_define_module(kuafu_bound_);                                                                     \
  }                                                                                                        \
  static void kuafu_define_module([[maybe_unused]] ::pybind11::module_& m)
#endif
#define KUAFU_NO_TORCH_LIBRARY                                                                             \
  _Pragma("GCC error \"kuafu: TORCH_LIBRARY is not available: bind the functions with PYBIND11_MODULE\"")
#define KUAFU_TORCH_LIBRARY(name, m) KUAFU_NO_TORCH_LIBRARY [[maybe_unused]] static void KUAFU_CAT(kuafu_library_, name)(::kuafu::Unread& m)
#define KUAFU_TORCH_LIBRARY_FRAGMENT KUAFU_TORCH_LIBRARY
#define KUAFU_TORCH_LIBRARY_IMPL(name, key, m) KUAFU_NO_TORCH_LIBRARY [[maybe_unused]] static void KUAFU_CAT(kuafu_impl_##key##_, name)(::kuafu::Unread& m)
