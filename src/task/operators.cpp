// SPDX-License-Identifier: Apache-2.0
// Reader and writer of operator lists.
#include <array>
#include <utility>

#include "base/text.h"
#include "task/operators_json.h"

namespace kuafu::task {
namespace {

constexpr std::array<std::string_view, kOperatorKinds> kKindNames = {
    "gemm", "conv",    "depthwise", "elementwise", "reduction", "scan",
    "norm", "softmax", "attention", "rnn",         "pooling",   "gather",
    "copy", "fill",    "sort",      "random",      "fft",       "other"};
constexpr int64_t kNumberMax = int64_t{1} << 60;
constexpr size_t kListMax = 4096;

struct NumberField {
  const char* key;
  int64_t Operator::* member;
};
constexpr NumberField kNumbers[] = {
    {"flops", &Operator::flops},
    {"read", &Operator::read_bytes},
    {"written", &Operator::written_bytes},
    {"m", &Operator::m},
    {"n", &Operator::n},
    {"k", &Operator::k},
    {"batch", &Operator::batch},
    {"rows", &Operator::rows},
    {"row", &Operator::row},
    {"inner", &Operator::inner},
    {"taps", &Operator::taps},
    {"dims", &Operator::dims},
    {"in_channels", &Operator::in_channels},
    {"out_channels", &Operator::out_channels},
    {"steps", &Operator::steps},
    {"layers", &Operator::layers},
    {"views", &Operator::views},
};
struct FlagField {
  const char* key;
  bool Operator::* member;
};
constexpr FlagField kFlags[] = {{"transposed", &Operator::transposed},
                                {"strided", &Operator::strided},
                                {"training", &Operator::training},
                                {"channels_last", &Operator::channels_last},
                                {"tf32", &Operator::tf32}};

Error Bad(const std::string& what) {
  return Error{Code::kCorrupt, "reading a list of operators: " + what};
}

Result<int64_t> Number(const Json& object, const char* key, int64_t otherwise) {
  if (JsonFind(object, key) == nullptr) return otherwise;
  KUAFU_TRY(const int64_t value, JsonInt(object, key));
  if (value < 0 || value > kNumberMax) return Bad(std::string(key) + " is out of range");
  return value;
}

Result<std::vector<int64_t>> Numbers(const Json* list, const char* key) {
  std::vector<int64_t> values;
  if (list == nullptr) return values;
  if (!list->is_array() || list->size() > kListMax) return Bad(std::string(key) + " is no list");
  for (const Json& item : *list) {
    if (!item.is_number_integer()) return Bad(std::string(key) + " has something else");
    const auto value = item.get<int64_t>();
    if (value < 0 || value > kNumberMax) return Bad(std::string(key) + " is out of range");
    values.push_back(value);
  }
  return values;
}

Result<std::vector<tensor::Shape>> Shapes(const Json* list, const char* key) {
  std::vector<tensor::Shape> shapes;
  if (list == nullptr) return shapes;
  if (!list->is_array() || list->size() > kListMax) return Bad(std::string(key) + " is no list");
  for (const Json& item : *list) {
    KUAFU_TRY(tensor::Shape shape, Numbers(&item, key));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

Result<Operator> ReadOperator(const Json& item) {
  Operator made;
  KUAFU_TRY(made.op, JsonString(item, "op"));
  KUAFU_TRY(const std::string kind, JsonString(item, "kind"));
  KUAFU_TRY(const std::string dtype, JsonString(item, "dtype"));
  const auto known = ParseOperatorKind(kind);
  const auto type = tensor::ParseDType(dtype);
  if (made.op.size() > 100) return Bad("a name is too long");
  if (!known.has_value()) return Bad("unknown kind " + EscapeForMessage(kind, 40));
  if (!type.has_value()) return Bad("unknown dtype " + EscapeForMessage(dtype, 40));
  made.kind = *known;
  made.dtype = *type;
  for (const NumberField& field : kNumbers) {
    KUAFU_TRY(made.*field.member, Number(item, field.key, 0));
  }
  for (const FlagField& field : kFlags) {
    KUAFU_TRY(const int64_t value, Number(item, field.key, 0));
    made.*field.member = value != 0;
  }
  KUAFU_TRY(made.uses, Numbers(JsonFind(item, "uses"), "uses"));
  KUAFU_TRY(made.use_bytes, Numbers(JsonFind(item, "use_bytes"), "use_bytes"));
  KUAFU_TRY(made.makes, Numbers(JsonFind(item, "makes"), "makes"));
  KUAFU_TRY(made.inputs, Shapes(JsonFind(item, "in"), "in"));
  KUAFU_TRY(made.outputs, Shapes(JsonFind(item, "out"), "out"));
  if (made.uses.size() != made.use_bytes.size()) return Bad("uses and use_bytes differ");
  return made;
}

}  // namespace

std::string_view OperatorKindName(OperatorKind kind) {
  return kKindNames[static_cast<size_t>(kind)];
}

std::optional<OperatorKind> ParseOperatorKind(std::string_view name) {
  for (size_t i = 0; i < kKindNames.size(); ++i) {
    if (kKindNames[i] == name) return static_cast<OperatorKind>(i);
  }
  return std::nullopt;
}

Json ToJson(const OperatorList& list) {
  Json operators = Json::array();
  for (const Operator& each : list.operators) {
    Json item = {{"op", each.op},
                 {"kind", OperatorKindName(each.kind)},
                 {"dtype", tensor::DTypeName(each.dtype)}};
    for (const NumberField& field : kNumbers) {
      if (each.*field.member != 0) item[field.key] = each.*field.member;
    }
    for (const FlagField& field : kFlags) {
      if (each.*field.member) item[field.key] = 1;
    }
    item["uses"] = each.uses;
    item["use_bytes"] = each.use_bytes;
    item["makes"] = each.makes;
    item["in"] = each.inputs;
    item["out"] = each.outputs;
    operators.push_back(std::move(item));
  }
  return {{"version", 1},
          {"operators", std::move(operators)},
          {"results", list.results},
          {"input_bytes", list.input_bytes},
          {"parameter_bytes", list.parameter_bytes},
          {"torch", list.torch}};
}

Result<OperatorList> OperatorsFromJson(const Json& document) {
  OperatorList list;
  KUAFU_TRY(const int64_t version, JsonInt(document, "version"));
  if (version != 1) return Bad("unknown version " + std::to_string(version));
  const Json* operators = JsonFind(document, "operators");
  if (operators == nullptr || !operators->is_array()) return Bad("operators is no list");
  if (static_cast<int64_t>(operators->size()) > kOperatorsMax) return Bad("too many operators");
  for (const Json& item : *operators) {
    KUAFU_TRY(Operator made, ReadOperator(item));
    list.operators.push_back(std::move(made));
  }
  KUAFU_TRY(list.results, Numbers(JsonFind(document, "results"), "results"));
  KUAFU_TRY(list.input_bytes, Number(document, "input_bytes", 0));
  KUAFU_TRY(list.parameter_bytes, Number(document, "parameter_bytes", 0));
  KUAFU_TRY(list.torch, JsonString(document, "torch"));
  return list;
}

}  // namespace kuafu::task
