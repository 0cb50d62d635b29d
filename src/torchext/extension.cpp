// SPDX-License-Identifier: Apache-2.0
#include "torchext/extension.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <utility>

#include "hostabi/api_macros.h"

namespace kuafu::torchext {
namespace {

constexpr int32_t kResultsMax = 64;
constexpr int kErrorBytesMax = 4096;
constexpr size_t kFunctionsMax = 1024;
constexpr size_t kListMax = 1 << 16;

Error Wrong(const std::string& what) {
  return Error{Code::kInvalidInput, "passing an argument: " + what};
}

// The text of a real, exact and with infinities.
std::string RealText(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

Json ToArgument(const KuafuValue& value) {
  switch (value.kind) {
    case KUAFU_INT: return {{"i", value.integer}};
    case KUAFU_BOOLEAN: return {{"b", value.integer != 0}};
    case KUAFU_REAL: return {{"r", RealText(value.real)}};
    case KUAFU_STRING: return {{"s", std::string(value.string, static_cast<size_t>(value.count))}};
    case KUAFU_INT_LIST:
      return {{"l", std::vector<int64_t>(value.integers, value.integers + value.count)}};
    case KUAFU_REAL_LIST: {
      Json list = Json::array();
      for (int32_t i = 0; i < value.count; ++i) list.push_back(RealText(value.reals[i]));
      return {{"rl", std::move(list)}};
    }
    default: return {{"n", nullptr}};
  }
}

// The values of one call and what they borrow.
class Arguments {
 public:
  explicit Arguments(hostabi::Session& session) : session_(session) {}
  ~Arguments() {
    for (KuafuTensor* t : tensors_) kuafu_tensor_release(t);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  Status Add(const Json& json) {
    KUAFU_TRY(const KuafuValue value, Convert(json));
    values_.push_back(value);
    return OkStatus();
  }
  const std::vector<KuafuValue>& values() const { return values_; }
  const std::vector<KuafuTensor*>& tensors() const { return tensors_; }

 private:
  Result<KuafuValue> Convert(const Json& json);
  Result<KuafuTensor*> Tensor(const Json& json) {
    KUAFU_TRY(KuafuTensor * tensor, WrapTensor(session_, json));
    tensors_.push_back(tensor);
    return tensor;
  }

  hostabi::Session& session_;
  std::vector<KuafuValue> values_;
  std::vector<KuafuTensor*> tensors_;
  // Lists and texts, at addresses that stay.
  std::deque<std::vector<int64_t>> integers_;
  std::deque<std::vector<double>> reals_;
  std::deque<std::vector<KuafuTensor*>> lists_;
  std::deque<std::string> texts_;
};

Result<KuafuValue> Arguments::Convert(const Json& json) {
  if (!json.is_object() || json.size() != 1) return Wrong("it is not of the agreed form");
  const auto item = json.items().begin();
  const std::string& kind = item.key();
  const Json& v = item.value();
  KuafuValue value{};
  if (kind == "n") {
    value.kind = KUAFU_NONE;
  } else if (kind == "t") {
    value.kind = KUAFU_TENSOR;
    KUAFU_TRY(value.tensor, Tensor(v));
  } else if (kind == "i" && v.is_number_integer()) {
    value.kind = KUAFU_INT;
    value.integer = v.get<int64_t>();
  } else if (kind == "b" && v.is_boolean()) {
    value.kind = KUAFU_BOOLEAN;
    value.integer = v.get<bool>() ? 1 : 0;
  } else if (kind == "r" && v.is_string()) {
    value.kind = KUAFU_REAL;
    value.real = std::strtod(v.get<std::string>().c_str(), nullptr);
  } else if (kind == "s" && v.is_string()) {
    texts_.push_back(v.get<std::string>());
    value.kind = KUAFU_STRING;
    value.string = texts_.back().c_str();
    value.count = static_cast<int32_t>(texts_.back().size());
  } else if (v.is_array() && v.size() <= kListMax) {
    value.count = static_cast<int32_t>(v.size());
    if (kind == "l") {
      auto& list = integers_.emplace_back();
      for (const Json& i : v) {
        if (!i.is_number_integer()) return Wrong("a list of integers holds something else");
        list.push_back(i.get<int64_t>());
      }
      value.kind = KUAFU_INT_LIST;
      value.integers = list.data();
    } else if (kind == "rl") {
      auto& list = reals_.emplace_back();
      for (const Json& r : v) {
        if (!r.is_string()) return Wrong("a list of numbers holds something else");
        list.push_back(std::strtod(r.get<std::string>().c_str(), nullptr));
      }
      value.kind = KUAFU_REAL_LIST;
      value.reals = list.data();
    } else if (kind == "tl") {
      auto& list = lists_.emplace_back();
      for (const Json& t : v) {
        KUAFU_TRY(KuafuTensor * tensor, Tensor(t));
        list.push_back(tensor);
      }
      value.kind = KUAFU_TENSOR_LIST;
      value.tensors = list.data();
    } else {
      return Wrong("there is no kind '" + kind + "'");
    }
  } else {
    return Wrong("there is no kind '" + kind + "' with such a value, or a list is too long");
  }
  return value;
}

// `arguments`: a result that shares their memory is an alias.
Json ResultJson(KuafuTensor* tensor, const std::vector<KuafuTensor*>& arguments) {
  const hostabi::TensorLayout layout = hostabi::LayoutOf(tensor);
  const auto storage = hostabi::StorageBytes(tensor);
  Json json = {{"base", reinterpret_cast<uint64_t>(storage.data())},
               {"bytes", storage.size()},
               {"dtype", hostabi::TensorTypeName(layout.dtype)},
               {"shape", layout.sizes},
               {"strides", layout.strides},
               {"offset", layout.offset},
               {"cpu", hostabi::WhereIs(tensor) == hostabi::Where::kHost}};
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (hostabi::StorageBytes(arguments[i]).data() != storage.data() || storage.empty()) continue;
    json["alias"] = i;
    return json;
  }
  json["handle"] = reinterpret_cast<uint64_t>(tensor);
  return json;
}

const char* FormName(int32_t form) {
  switch (form) {
    case KUAFU_RESULT_NONE: return "none";
    case KUAFU_RESULT_TUPLE: return "tuple";
    case KUAFU_RESULT_LIST: return "list";
    default: return "single";
  }
}

}  // namespace

Json Describe(const KuafuModule& module) {
  Json functions = Json::array();
  for (const KuafuModule::Function& f : module.functions) {
    Json parameters = Json::array();
    for (const KuafuModule::Parameter& p : f.parameters) {
      Json parameter = {{"name", p.name}};
      if (p.has_default) parameter["default"] = p.fallback;
      parameters.push_back(std::move(parameter));
    }
    functions.push_back({{"name", f.name}, {"parameters", std::move(parameters)}});
  }
  return {{"functions", std::move(functions)}};
}

Result<KuafuTensor*> WrapTensor(hostabi::Session& session, const Json& json) {
  hostabi::TensorLayout layout;
  KUAFU_TRY(const std::string name, JsonString(json, "dtype"));
  const auto dtype = hostabi::TensorTypeOf(name);
  if (!dtype.has_value())
    return Error{Code::kInvalidInput, "a tensor of type " + name + " cannot be passed to C++"};
  layout.dtype = *dtype;
  KUAFU_TRY(const int64_t base, JsonInt(json, "base"));
  KUAFU_TRY(const int64_t bytes, JsonInt(json, "bytes"));
  KUAFU_TRY(layout.offset, JsonInt(json, "offset"));
  for (auto [key, list] : {std::pair{"shape", &layout.sizes}, {"strides", &layout.strides}}) {
    const Json* values = JsonFind(json, key);
    if (values == nullptr || !values->is_array()) return Wrong("a tensor without its shape");
    for (const Json& v : *values) {
      if (!v.is_number_integer()) return Wrong("a shape that is no list of sizes");
      list->push_back(v.get<int64_t>());
    }
  }
  KUAFU_TRY(const bool cpu, JsonBool(json, "cpu"));
  return hostabi::WrapTensor(session, layout, reinterpret_cast<void*>(base),
                             static_cast<uint64_t>(std::max<int64_t>(bytes, 0)),
                             cpu ? hostabi::Where::kHost : hostabi::Where::kDevice);
}

Result<Json> Call(hostabi::Session& session, const KuafuModule::Function& function,
                  const Json& json) {
  Arguments arguments(session);
  for (const Json& argument : json) KUAFU_TRY_STATUS(arguments.Add(argument));
  char text[kErrorBytesMax] = {};
  KuafuValue values[kResultsMax] = {};
  KuafuCall call{};
  call.size = sizeof call;
  call.argument_count = static_cast<int32_t>(arguments.values().size());
  call.arguments = arguments.values().data();
  call.result_capacity = kResultsMax;
  call.values = values;
  call.error_capacity = kErrorBytesMax;
  call.error = text;
  try {
    function.invoke(function.function, &call);
  } catch (...) {
    call.status = KUAFU_CALL_THREW;
    std::snprintf(text, sizeof text, "an exception left the function");
  }
  text[kErrorBytesMax - 1] = 0;
  if (call.status != KUAFU_CALL_OK) {
    return Json{{"status", call.status == KUAFU_CALL_MISMATCH ? "mismatch" : "threw"},
                {"error", text}};
  }
  Json results = Json::array();
  for (int32_t i = 0; i < std::clamp(call.result_count, 0, kResultsMax); ++i) {
    if (values[i].kind != KUAFU_TENSOR) {
      results.push_back(ToArgument(values[i]));
    } else if (hostabi::IsTensor(session, values[i].tensor)) {
      Json tensor = ResultJson(values[i].tensor, arguments.tensors());
      if (tensor.contains("alias")) kuafu_tensor_release(values[i].tensor);
      results.push_back({{"t", std::move(tensor)}});
    } else {
      return Json{
          {"status", "threw"},
          {"error", "result " + std::to_string(i) + " is not a tensor, or its memory was freed"}};
    }
  }
  Json kept = Json::array();
  for (KuafuTensor* t : arguments.tensors()) kept.push_back(hostabi::References(t) > 1);
  return Json{{"status", "ok"},
              {"form", FormName(call.result_form)},
              {"values", std::move(results)},
              {"kept", std::move(kept)}};
}

}  // namespace kuafu::torchext

KUAFU_EXPORT void kuafu_module_def(KuafuModule* module, const char* name, KuafuInvoker invoke,
                                   void* function, int32_t parameter_count,
                                   const KuafuParameter* parameters) {
  if (module == nullptr || name == nullptr || invoke == nullptr ||
      module->functions.size() >= kuafu::torchext::kFunctionsMax)
    return;
  KuafuModule::Function f{name, invoke, function, {}};
  for (int32_t i = 0; parameters != nullptr && i < parameter_count; ++i) {
    const KuafuParameter& p = parameters[i];
    f.parameters.push_back({p.name == nullptr ? "" : p.name, p.has_default != 0,
                            kuafu::torchext::ToArgument(p.value)});
  }
  module->functions.push_back(std::move(f));
}
