// SPDX-License-Identifier: Apache-2.0
// Operators of the framework's library compile, so that a verdict can name the one that was called: at run
// time each ends in kuafu_library_call. They stand in library_ops.inc.
#pragma once

#include <initializer_list>

#include "kuafu/tensor_abi.h"

namespace kuafu {
// An argument of such an operator, whatever it is. No template for the operators themselves: a list in braces
// has no type that a template could deduce.
struct Any {
  Any() = default;
  template <class T> Any(const T&) {}
  Any(std::initializer_list<Any>) {}
};
}  // namespace kuafu

#define KUAFU_ANY_0
#define KUAFU_ANY_1 ::kuafu::Any,
#define KUAFU_ANY_2 ::kuafu::Any, ::kuafu::Any,
#define KUAFU_ANY_3 ::kuafu::Any, ::kuafu::Any, ::kuafu::Any,
#define KUAFU_ANY_REST                                                                                     \
  ::kuafu::Any = {}, ::kuafu::Any = {}, ::kuafu::Any = {}, ::kuafu::Any = {}, ::kuafu::Any = {},           \
  ::kuafu::Any = {}, ::kuafu::Any = {}, ::kuafu::Any = {}
#define KUAFU_ANY(required) KUAFU_ANY_##required KUAFU_ANY_REST
// Where the framework's operators take fewer: reading a declaration costs time for each parameter.
#define KUAFU_FEW(required) KUAFU_ANY_##required ::kuafu::Any = {}, ::kuafu::Any = {}, ::kuafu::Any = {}, ::kuafu::Any = {}

// Kinds of rows in library_ops.inc: Both, Function, Method, Inplace (both, with _ at the end), Pair (both,
// returns two tensors), Triple, Creator (no tensor among the arguments).
#define KUAFU_METHOD_Both(name, required) Tensor name(KUAFU_FEW(required)) const { kuafu_library_call("at::" #name); }
#define KUAFU_METHOD_Function(name, required)
#define KUAFU_METHOD_Method(name, required) KUAFU_METHOD_Both(name, required)
#define KUAFU_METHOD_Inplace(name, required)                                                               \
  KUAFU_METHOD_Both(name, required)                                                                        \
  const Tensor& name##_(KUAFU_FEW(required)) const { kuafu_library_call("at::" #name "_"); }
#define KUAFU_METHOD_Pair(name, required)                                                                  \
  std::tuple<Tensor, Tensor> name(KUAFU_FEW(required)) const { kuafu_library_call("at::" #name); }
#define KUAFU_METHOD_Triple(name, required)
#define KUAFU_METHOD_Creator(name, required)
#define KUAFU_METHOD_Only_(name, required)                                                                 \
  const Tensor& name##_(KUAFU_FEW(required)) const { kuafu_library_call("at::" #name "_"); }
#define KUAFU_METHOD_Out(name, required)

#define KUAFU_FUNCTION_Both(name, required)                                                                \
  inline Tensor name(const Tensor&, KUAFU_FEW(required)) { kuafu_library_call("at::" #name); }
#define KUAFU_FUNCTION_Function(name, required)                                                            \
  inline Tensor name(const Tensor&, KUAFU_ANY(required)) { kuafu_library_call("at::" #name); }
#define KUAFU_FUNCTION_Method(name, required)
#define KUAFU_FUNCTION_Inplace(name, required)                                                             \
  KUAFU_FUNCTION_Both(name, required)                                                                      \
  inline const Tensor& name##_(const Tensor&, KUAFU_FEW(required)) { kuafu_library_call("at::" #name "_"); } \
  KUAFU_FUNCTION_Out(name, required)
#define KUAFU_FUNCTION_Pair(name, required)                                                                \
  inline std::tuple<Tensor, Tensor> name(const Tensor&, KUAFU_FEW(required)) { kuafu_library_call("at::" #name); }
#define KUAFU_FUNCTION_Triple(name, required)                                                              \
  inline std::tuple<Tensor, Tensor, Tensor> name(const Tensor&, KUAFU_ANY(required)) { kuafu_library_call("at::" #name); }
#define KUAFU_FUNCTION_Creator(name, required)                                                             \
  inline Tensor name(KUAFU_ANY(required)) { kuafu_library_call("at::" #name); }
#define KUAFU_FUNCTION_Only_(name, required)
#define KUAFU_FUNCTION_Out(name, required)                                                                 \
  inline Tensor& name##_out(Tensor& out, const Tensor&, KUAFU_FEW(required)) { kuafu_library_call("at::" #name "_out"); }
