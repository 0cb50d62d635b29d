// SPDX-License-Identifier: Apache-2.0
// Errors of a candidate's host code and the protocol of its entry function (kuafu/tensor_abi.h).
// They are here and not in the candidate's headers because every candidate would compile them.
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "hostabi/api_macros.h"
#include "hostabi/session.h"
#include "kuafu/tensor_abi.h"

namespace {

const char* KindName(int kind) {
  static const char* const names[] = {"none",
                                      "a tensor",
                                      "an integer",
                                      "a real number",
                                      "a boolean",
                                      "a list of integers",
                                      "a list of tensors",
                                      "a string",
                                      "a list of real numbers"};
  return kind >= 0 && kind < 9 ? names[kind] : "an unknown kind";
}

bool Has(uint32_t accepted, int kind) { return (accepted >> kind & 1) != 0; }

bool IsList(int kind) {
  return kind == KUAFU_INT_LIST || kind == KUAFU_REAL_LIST || kind == KUAFU_TENSOR_LIST;
}

// The kind to name, if a parameter takes several: the one that includes the others.
const char* WantedName(uint32_t accepted) {
  for (const int kind : {KUAFU_TENSOR, KUAFU_REAL, KUAFU_INT, KUAFU_BOOLEAN, KUAFU_REAL_LIST,
                         KUAFU_INT_LIST, KUAFU_TENSOR_LIST, KUAFU_STRING}) {
    if (!Has(accepted, kind)) continue;
    return kind == KUAFU_INT && (accepted & KUAFU_ACCEPT_WHOLE) == 0 ? "a boolean" : KindName(kind);
  }
  return "nothing";
}

bool Accepts(const KuafuCall* call, const KuafuValue& value, uint32_t accepted) {
  if (value.kind < KUAFU_NONE || value.kind > KUAFU_REAL_LIST) return false;
  // PyTorch passes numbers as they are; what a file says about a native candidate is less exact.
  if (value.kind == KUAFU_REAL && (accepted & KUAFU_ACCEPT_WHOLE) != 0 && call->values == nullptr &&
      value.real == std::trunc(value.real) && std::abs(value.real) < 0x1p63)
    return true;
  const auto length = static_cast<int32_t>(accepted >> KUAFU_ACCEPT_LENGTH_SHIFT);
  if (IsList(value.kind) && length != 0 && value.count != length) return false;
  // Of an empty list nobody can tell the kind.
  const bool any_list = Has(accepted, KUAFU_INT_LIST) || Has(accepted, KUAFU_REAL_LIST) ||
                        Has(accepted, KUAFU_TENSOR_LIST);
  return Has(accepted, value.kind) || (any_list && IsList(value.kind) && value.count == 0);
}

void CheckRoom(const KuafuCall* call) {
  if (call->result_count < call->result_capacity) return;
  kuafu_raise_numbers("the entry function returned more than ", call->result_capacity,
                      " results, namely ", call->result_count + 1, "");
}

}  // namespace

KUAFU_EXPORT void kuafu_raise(const char* a, const char* b, const char* c, const char* d) {
  throw std::runtime_error(std::string(a) + b + c + d);
}

KUAFU_EXPORT void kuafu_raise_numbers(const char* a, int64_t i, const char* b, int64_t n,
                                      const char* c) {
  throw std::runtime_error(a + std::to_string(i) + b + std::to_string(n) + c);
}

KUAFU_EXPORT int64_t kuafu_tensor_size(const KuafuTensor* tensor, int64_t dimension) {
  const int64_t n = kuafu_tensor_ndim(tensor);
  if (n < 0) kuafu_raise(kuafu_tensor_error(), "", "", "");
  if (dimension < -n || dimension >= n) {
    kuafu_raise_numbers("dimension ", dimension, " is out of range for a tensor of ", n,
                        " dimensions");
  }
  return kuafu_tensor_sizes(tensor)[dimension < 0 ? dimension + n : dimension];
}

KUAFU_EXPORT void kuafu_call_fail(KuafuCall* call, int32_t status, const char* text) {
  for (int32_t i = 0; i < call->result_count; ++i) {
    if (call->values == nullptr) kuafu_tensor_release(call->results[i]);
    if (call->values != nullptr && call->values[i].kind == KUAFU_TENSOR)
      kuafu_tensor_release(call->values[i].tensor);
  }
  call->status = status;
  call->result_count = 0;
  if (call->error == nullptr || call->error_capacity < 1) return;
  std::snprintf(call->error, static_cast<size_t>(call->error_capacity), "%s", text);
}

KUAFU_EXPORT int32_t kuafu_call_count_matches(KuafuCall* call, int32_t parameters) {
  if (call->argument_count == parameters) return 1;
  const std::string text = "the entry function takes " + std::to_string(parameters) +
                           " parameters but " + std::to_string(call->argument_count) +
                           " values are passed";
  kuafu_call_fail(call, KUAFU_CALL_MISMATCH, text.c_str());
  return 0;
}

KUAFU_EXPORT int32_t kuafu_call_accepts(KuafuCall* call, int32_t index, uint32_t accepted) {
  const KuafuValue& value = call->arguments[index];
  if (Accepts(call, value, accepted)) return 1;
  const auto length = static_cast<int32_t>(accepted >> KUAFU_ACCEPT_LENGTH_SHIFT);
  std::string text = "parameter " + std::to_string(index) + " of the entry function wants " +
                     WantedName(accepted) + " but " + KindName(value.kind) + " is passed";
  if (length != 0 && IsList(value.kind)) {
    text = "parameter " + std::to_string(index) + " of the entry function wants " +
           std::to_string(length) + " elements but " + std::to_string(value.count) + " are passed";
  }
  kuafu_call_fail(call, KUAFU_CALL_MISMATCH, text.c_str());
  return 0;
}

KUAFU_EXPORT void kuafu_call_run(void (*body)(void* function, KuafuCall* call), void* function,
                                 KuafuCall* call) {
  call->status = KUAFU_CALL_OK;
  call->result_count = 0;
  call->result_form = KUAFU_RESULT_NONE;
  try {
    body(function, call);
  } catch (const std::exception& e) {
    kuafu_call_fail(call, KUAFU_CALL_THREW, e.what());
  } catch (...) {
    kuafu_call_fail(call, KUAFU_CALL_THREW,
                    "the entry function threw something that is not a std::exception");
  }
}

KUAFU_EXPORT void kuafu_call_return(KuafuCall* call, KuafuTensor* tensor) {
  if (call->values != nullptr) {
    CheckRoom(call);
    KuafuValue& value = call->values[call->result_count++];
    value = {};
    if (tensor == nullptr) return;
    value.kind = KUAFU_TENSOR;
    value.tensor = kuafu_tensor_retain(tensor);
    return;
  }
  if (tensor == nullptr) kuafu_raise("the entry function returned an undefined tensor", "", "", "");
  CheckRoom(call);
  call->results[call->result_count++] = kuafu_tensor_retain(tensor);
}

KUAFU_EXPORT void kuafu_call_return_number(KuafuCall* call, int32_t kind, int64_t integer,
                                           double real) {
  if (call->values == nullptr) {
    const std::string text = std::string("the entry function returned ") + KindName(kind) +
                             " where only tensors can be results";
    kuafu_raise(text.c_str(), "", "", "");
  }
  CheckRoom(call);
  KuafuValue& value = call->values[call->result_count++];
  value = {};
  value.kind = kind;
  if (kind == KUAFU_REAL) {
    value.real = real;
  } else {
    value.integer = integer;
  }
}

KUAFU_EXPORT void kuafu_library_call(const char* name) {
  std::string& first = kuafu::hostabi::Current().library_call;
  if (first.empty()) first = name;
  throw std::runtime_error(std::string("library call: ") + name);
}
