// SPDX-License-Identifier: Apache-2.0
// Reader and writer of task.json.
#include "task/task.h"

namespace kuafu::task {
namespace {

constexpr std::string_view kOrigins[] = {"input", "parameter", "buffer", "scalar"};

Error Bad(const std::string& what) { return Error{Code::kInvalidInput, "task.json: " + what}; }

Result<const Json*> List(const Json& object, const char* key, int64_t count_max) {
  const Json* list = JsonFind(object, key);
  if (list == nullptr || !list->is_array()) return Bad(std::string(key) + " is not a list");
  if (static_cast<int64_t>(list->size()) > count_max) {
    return Bad(std::string(key) + " has more than " + std::to_string(count_max) + " entries");
  }
  return list;
}

Result<std::vector<int64_t>> Integers(const Json& list, int64_t count_max) {
  if (!list.is_array() || static_cast<int64_t>(list.size()) > count_max) {
    return Bad("a list of integers is missing or too long");
  }
  std::vector<int64_t> values;
  for (const Json& item : list) {
    if (!item.is_number_integer()) return Bad("a list of integers has something else");
    values.push_back(item.get<int64_t>());
  }
  return values;
}

Result<std::vector<int64_t>> IntegerField(const Json& object, const char* key, int64_t count_max) {
  KUAFU_TRY(const Json* list, List(object, key, count_max));
  return Integers(*list, count_max);
}

Result<tensor::Shape> ShapeField(const Json& object) {
  KUAFU_TRY(tensor::Shape shape, IntegerField(object, "shape", tensor::kRankMax));
  KUAFU_TRY([[maybe_unused]] const int64_t count, tensor::ElementCount(shape));
  return shape;
}

Result<tensor::DType> DTypeField(const Json& object) {
  KUAFU_TRY(const std::string name, JsonString(object, "dtype"));
  const auto dtype = tensor::ParseDType(name);
  if (!dtype.has_value()) return Bad("unknown dtype " + name);
  return *dtype;
}

}  // namespace

std::string_view OriginName(Origin origin) { return kOrigins[static_cast<int>(origin)]; }

int64_t InputCount(const Task& task) {
  int64_t count = 0;
  for (const Argument& argument : task.arguments) {
    if (argument.origin != Origin::kInput) break;
    ++count;
  }
  return count;
}

Json ToJson(const Task& task) {
  Json document = {{"version", 1},
                   {"name", task.name},
                   {"source_hash", task.source_hash},
                   {"reduction_max", task.reduction_max}};
  Json arguments = Json::array();
  for (const Argument& a : task.arguments) {
    arguments.push_back({{"name", a.name},
                         {"origin", OriginName(a.origin)},
                         {"dtype", tensor::DTypeName(a.dtype)},
                         {"shape", a.shape},
                         {"value", a.value}});
  }
  Json trace = Json::array();
  for (const Operation& o : task.trace) {
    trace.push_back({{"op", o.op},
                     {"inputs", o.inputs},
                     {"results", o.results},
                     {"shapes", o.shapes},
                     {"k", o.reduction}});
  }
  Json outputs = Json::array();
  for (const Output& o : task.outputs) {
    outputs.push_back(
        {{"name", o.name}, {"dtype", tensor::DTypeName(o.dtype)}, {"shape", o.shape}});
  }
  document["arguments"] = std::move(arguments);
  document["trace"] = std::move(trace);
  document["outputs"] = std::move(outputs);
  return document;
}

Result<Task> FromJson(const Json& document) {
  Task task;
  KUAFU_TRY(const int64_t version, JsonInt(document, "version"));
  if (version != 1) return Bad("version " + std::to_string(version) + " is not 1");
  KUAFU_TRY(task.name, JsonString(document, "name"));
  KUAFU_TRY(task.source_hash, JsonString(document, "source_hash"));
  KUAFU_TRY(task.reduction_max, JsonInt(document, "reduction_max"));
  KUAFU_TRY(const Json* arguments, List(document, "arguments", kArgumentsMax));
  for (const Json& item : *arguments) {
    Argument a;
    KUAFU_TRY(a.name, JsonString(item, "name"));
    KUAFU_TRY(const std::string origin, JsonString(item, "origin"));
    size_t index = 0;
    while (index < std::size(kOrigins) && kOrigins[index] != origin) ++index;
    if (index == std::size(kOrigins)) return Bad("unknown origin " + origin);
    a.origin = static_cast<Origin>(index);
    KUAFU_TRY(a.dtype, DTypeField(item));
    KUAFU_TRY(a.shape, ShapeField(item));
    if (const Json* value = JsonFind(item, "value")) a.value = *value;
    task.arguments.push_back(std::move(a));
  }
  KUAFU_TRY(const Json* trace, List(document, "trace", kTraceMax));
  for (const Json& item : *trace) {
    Operation o;
    KUAFU_TRY(o.op, JsonString(item, "op"));
    KUAFU_TRY(o.inputs, IntegerField(item, "inputs", kArgumentsMax));
    KUAFU_TRY(o.results, IntegerField(item, "results", kArgumentsMax));
    KUAFU_TRY(o.reduction, JsonInt(item, "k"));
    KUAFU_TRY(const Json* shapes, List(item, "shapes", kArgumentsMax));
    for (const Json& shape : *shapes) {
      KUAFU_TRY(tensor::Shape sizes, Integers(shape, tensor::kRankMax));
      o.shapes.push_back(std::move(sizes));
    }
    task.trace.push_back(std::move(o));
  }
  KUAFU_TRY(const Json* outputs, List(document, "outputs", kArgumentsMax));
  for (const Json& item : *outputs) {
    Output o;
    KUAFU_TRY(o.name, JsonString(item, "name"));
    KUAFU_TRY(o.dtype, DTypeField(item));
    KUAFU_TRY(o.shape, ShapeField(item));
    task.outputs.push_back(std::move(o));
  }
  return task;
}

}  // namespace kuafu::task
