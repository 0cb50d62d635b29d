// SPDX-License-Identifier: Apache-2.0
// Parsing of the trials request. It comes from our own parent, but is checked like any other input:
// a wrong offset would otherwise show as a crash that is blamed on the candidate.
#include "cli/runner_request.h"

#include <algorithm>
#include <cstdlib>

#include "base/json.h"
#include "device/profile.h"
#include "hostabi/report.h"

namespace kuafu::runner {
namespace {

Error Wrong(const std::string& what) {
  return Error{Code::kInvalidInput, "reading a request of trials: " + what};
}

Result<const Json*> List(const Json& object, const char* key, size_t count_max) {
  const Json* list = JsonFind(object, key);
  if (list == nullptr || !list->is_array() || list->size() > count_max)
    return Wrong(std::string(key) + " must be a list of at most " + std::to_string(count_max));
  return list;
}

Result<std::vector<int64_t>> Integers(const Json& object, const char* key) {
  KUAFU_TRY(const Json* list, List(object, key, kListMax));
  std::vector<int64_t> values;
  for (const Json& v : *list) {
    if (!v.is_number_integer()) return Wrong(std::string(key) + " must hold integers");
    values.push_back(v.get<int64_t>());
  }
  return values;
}

Status ParseTensor(const Json& json, Argument& a) {
  KUAFU_TRY(const std::string dtype, JsonString(json, "dtype"));
  const auto type = hostabi::TensorTypeOf(dtype);
  if (!type.has_value()) return Wrong("there is no element type " + dtype);
  a.layout.dtype = *type;
  KUAFU_TRY(a.layout.sizes, Integers(json, "shape"));
  KUAFU_TRY(a.layout.strides, Integers(json, "strides"));
  KUAFU_TRY(a.layout.offset, JsonInt(json, "offset"));
  KUAFU_TRY(a.storage_at, JsonInt(json, "storage_at"));
  KUAFU_TRY(a.storage_bytes, JsonInt(json, "storage_bytes"));
  KUAFU_TRY(a.name, JsonString(json, "name"));
  if (const Json* output = JsonFind(json, "output"))
    a.output = output->is_boolean() && output->get<bool>();
  if (a.storage_at < 0 || a.storage_bytes < 0 || a.storage_at > INT64_MAX - a.storage_bytes)
    return Wrong("the storage of " + a.name + " is not a range of bytes");
  return OkStatus();
}

Result<Argument> ParseArgument(const Json& json) {
  Argument a;
  KUAFU_TRY(const std::string kind, JsonString(json, "kind"));
  if (kind == "tensor") {
    a.kind = KUAFU_TENSOR;
    KUAFU_TRY_STATUS(ParseTensor(json, a));
  } else if (kind == "int") {
    a.kind = KUAFU_INT;
    KUAFU_TRY(a.integer, JsonInt(json, "value"));
  } else if (kind == "real") {
    a.kind = KUAFU_REAL;
    // JSON has no infinities: they come as text.
    const Json* value = JsonFind(json, "value");
    if (value != nullptr && value->is_string()) {
      a.real = std::strtod(value->get<std::string>().c_str(), nullptr);
    } else {
      KUAFU_TRY(a.real, JsonNumber(json, "value"));
    }
  } else if (kind == "bool") {
    a.kind = KUAFU_BOOLEAN;
    KUAFU_TRY(const bool value, JsonBool(json, "value"));
    a.integer = value ? 1 : 0;
  } else if (kind == "int_list") {
    a.kind = KUAFU_INT_LIST;
    KUAFU_TRY(a.integers, Integers(json, "value"));
  } else if (kind != "none") {
    return Wrong("there is no argument of kind " + kind);
  }
  return a;
}

}  // namespace

Result<Request> ParseRequest(std::string_view text) {
  KUAFU_TRY(const Json json, ParseJson(text, kFrameBytesMax));
  if (!json.is_object()) return Wrong("it must be an object");
  Request request;
  KUAFU_TRY(const std::string target_text, JsonString(json, "target"));
  KUAFU_TRY(const device::Target target, device::ParseTarget(target_text));
  request.options.profile = target.profile;
  KUAFU_TRY(const int64_t width, JsonInt(json, "warp_width"));
  if (width != 32 && width != 64 && width != 128)
    return Wrong("warp_width is " + std::to_string(width) + ", but 32, 64 and 128 are possible");
  request.options.warp_width = static_cast<uint32_t>(width);
  KUAFU_TRY(request.options.sanitize, JsonBool(json, "sanitize"));
  KUAFU_TRY(const int64_t dispatches, JsonInt(json, "max_dispatches"));
  KUAFU_TRY(const int64_t memory_bytes, JsonInt(json, "memory_bytes"));
  if (dispatches <= 0 || memory_bytes <= 0)
    return Wrong("max_dispatches and memory_bytes must be positive");
  request.options.max_dispatches = static_cast<uint64_t>(dispatches);
  request.options.memory_bytes = static_cast<size_t>(memory_bytes);
  if (const Json* count = JsonFind(json, "count"))
    request.options.count = count->is_boolean() && count->get<bool>();
  if (const Json* check = JsonFind(json, "check_inputs"))
    request.check_inputs = !check->is_boolean() || check->get<bool>();
  KUAFU_TRY(const Json* seeds, List(json, "order_seeds", kOrdersMax));
  for (const Json& seed : *seeds) {
    // As text, because JSON numbers end at 2^53 in some readers.
    if (!seed.is_string()) return Wrong("order_seeds must hold numbers as text");
    request.order_seeds.push_back(std::strtoull(seed.get<std::string>().c_str(), nullptr, 10));
  }
  KUAFU_TRY(const Json* trials, List(json, "trials", kTrialsMax));
  for (const Json& trial_json : *trials) {
    KUAFU_TRY(const Json* arguments, List(trial_json, "arguments", kArgumentsMax));
    Trial trial;
    KUAFU_TRY(trial.skip, JsonBool(trial_json, "skip"));
    for (const Json& argument : *arguments) {
      KUAFU_TRY(Argument a, ParseArgument(argument));
      request.inputs_bytes = std::max(request.inputs_bytes, a.storage_at + a.storage_bytes);
      trial.arguments.push_back(std::move(a));
    }
    KUAFU_TRY(trial.sampling, hostabi::ReadCallSampling(JsonFind(trial_json, "sampling")));
    request.trials.push_back(std::move(trial));
  }
  return request;
}

}  // namespace kuafu::runner
