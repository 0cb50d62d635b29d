// SPDX-License-Identifier: Apache-2.0
// Reader of what python/kuafu_frontend/trials.py writes.
#include "frontend/decode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "os/memfd.h"
#include "task/operators_json.h"

namespace kuafu::frontend {
namespace {

using Kind = ArgumentValue::Kind;

Error Bad(const std::string& what) {
  return Error{Code::kCorrupt, "reading the answer of the reference helper: " + what};
}

std::optional<Code> ParseCode(std::string_view name) {
  for (const Code code : {Code::kInvalidInput, Code::kUnsupported, Code::kExhausted,
                          Code::kDeadline, Code::kInternal, Code::kUnavailable}) {
    if (CodeName(code) == name) return code;
  }
  return std::nullopt;
}

Result<const Json*> List(const Json& object, const char* key, int64_t count_max) {
  const Json* list = JsonFind(object, key);
  if (list == nullptr || !list->is_array()) return Bad(std::string(key) + " is not a list");
  if (static_cast<int64_t>(list->size()) > count_max) return Bad(std::string(key) + " is too long");
  return list;
}

Result<std::vector<int64_t>> Integers(const Json& object, const char* key, int64_t count_max) {
  KUAFU_TRY(const Json* list, List(object, key, count_max));
  std::vector<int64_t> values;
  for (const Json& item : *list) {
    if (!item.is_number_integer()) return Bad(std::string(key) + " has something else");
    values.push_back(item.get<int64_t>());
  }
  return values;
}

Result<tensor::DType> DTypeField(const Json& object, const char* key) {
  KUAFU_TRY(const std::string name, JsonString(object, key));
  const auto dtype = tensor::ParseDType(name);
  if (!dtype.has_value()) return Bad("unknown dtype " + EscapeForMessage(name, 40));
  return *dtype;
}

// `count` elements of `element_bytes` from `at` on lie within `bytes`.
bool InRange(int64_t at, int64_t count, int64_t element_bytes, int64_t bytes) {
  return at >= 0 && at % 8 == 0 && count >= 0 && at <= bytes &&
         count <= (bytes - at) / element_bytes;
}

// The last element of the view lies in its storage.
bool ViewInRange(const ArgumentValue& value, int64_t count) {
  const int64_t elements = value.storage_bytes / tensor::DTypeBytes(value.dtype);
  if (value.offset < 0 || value.offset > elements) return false;
  int64_t last = value.offset;
  for (size_t i = 0; i < value.shape.size(); ++i) {
    if (value.strides[i] < 0) return false;
    if (count == 0 || value.shape[i] < 2) continue;
    if (value.strides[i] > elements) return false;
    if (value.strides[i] > 0 && value.shape[i] - 1 > elements / value.strides[i]) return false;
    last += (value.shape[i] - 1) * value.strides[i];
    if (last >= elements) return false;
  }
  return count == 0 || last < elements;
}

Result<ArgumentValue> ReadTensor(const Json& item, int64_t inputs_bytes) {
  ArgumentValue value;
  value.kind = Kind::kTensor;
  KUAFU_TRY(value.dtype, DTypeField(item, "t"));
  KUAFU_TRY(value.shape, Integers(item, "shape", tensor::kRankMax));
  KUAFU_TRY(const int64_t count, tensor::ElementCount(value.shape));
  KUAFU_TRY(value.strides, Integers(item, "strides", tensor::kRankMax));
  KUAFU_TRY(value.offset, JsonInt(item, "offset"));
  KUAFU_TRY(value.storage_at, JsonInt(item, "at"));
  KUAFU_TRY(value.storage_bytes, JsonInt(item, "bytes"));
  if (value.strides.size() != value.shape.size()) return Bad("a shape and its strides differ");
  if (value.storage_at % kStorageAlignment != 0 ||
      !InRange(value.storage_at, value.storage_bytes, 1, inputs_bytes)) {
    return Bad("a storage lies outside of the inputs");
  }
  if (!ViewInRange(value, count)) return Bad("a tensor lies outside of its storage");
  return value;
}

Result<ArgumentValue> ReadArgument(const Json& item, int64_t inputs_bytes) {
  if (JsonFind(item, "t") != nullptr) return ReadTensor(item, inputs_bytes);
  ArgumentValue value;
  if (JsonFind(item, "i") != nullptr) {
    value.kind = Kind::kInt;
    KUAFU_TRY(value.integer, JsonInt(item, "i"));
  } else if (JsonFind(item, "b") != nullptr) {
    value.kind = Kind::kBool;
    KUAFU_TRY(const bool flag, JsonBool(item, "b"));
    value.integer = flag ? 1 : 0;
  } else if (JsonFind(item, "r") != nullptr) {
    value.kind = Kind::kReal;
    KUAFU_TRY(const std::string text, JsonString(item, "r"));
    if (text == "inf" || text == "-inf" || text == "nan") {  // JSON has none of these
      value.real = text == "nan" ? NAN : (text[0] == '-' ? -INFINITY : INFINITY);
    } else {
      const auto number = ParseDouble(text);
      if (!number.has_value()) return Bad("a number cannot be read");
      value.real = *number;
    }
  } else if (JsonFind(item, "l") != nullptr) {
    value.kind = Kind::kIntList;
    KUAFU_TRY(value.integers, Integers(item, "l", task::kArgumentsMax));
  } else if (JsonFind(item, "n") == nullptr) {
    return Bad("an argument of unknown kind");
  }
  return value;
}

// The mapping of the truth, shared by all outputs.
struct Truth {
  std::shared_ptr<os::Mapping> mapping;
  int64_t bytes = 0;

  Result<std::vector<double>> Doubles(int64_t at, int64_t count) const {
    if (!InRange(at, count, 8, bytes)) return Bad("a row table lies outside of the truth");
    std::vector<double> values(static_cast<size_t>(count));
    if (count > 0) std::memcpy(values.data(), mapping->bytes().data() + at, values.size() * 8);
    for (const double value : values) {
      if (!std::isfinite(value) || value < 0) return Bad("a tolerance is not a number");
    }
    return values;
  }

  // A view of f64 or i64 values.
  Result<tensor::HostTensor> Values(tensor::DType dtype, const tensor::Shape& shape,
                                    int64_t at) const {
    KUAFU_TRY(const int64_t count, tensor::ElementCount(shape));
    if (!InRange(at, count, 8, bytes)) return Bad("an output lies outside of the truth");
    if (count == 0) return tensor::HostTensor::Create(dtype, shape);
    // Nobody writes through it: the mapping is read-only.
    auto* data = const_cast<uint8_t*>(std::as_const(*mapping).bytes().data()) + at;
    return tensor::HostTensor::View(dtype, shape, tensor::ContiguousStrides(shape), mapping, data,
                                    bytes - at);
  }
};

Result<TrialOutput> ReadOutput(const Json& item, const Truth& truth, int64_t arguments) {
  TrialOutput output;
  task::Expected& expected = output.expected;
  KUAFU_TRY(expected.name, JsonString(item, "name"));
  KUAFU_TRY(expected.dtype, DTypeField(item, "dtype"));
  KUAFU_TRY(tensor::Shape shape, Integers(item, "shape", tensor::kRankMax));
  KUAFU_TRY(const int64_t count, tensor::ElementCount(shape));
  KUAFU_TRY(expected.reduction, JsonInt(item, "k"));
  KUAFU_TRY(expected.exact, JsonBool(item, "exact"));
  KUAFU_TRY(const int64_t argument, JsonInt(item, "argument"));
  if (argument < -1 || argument >= arguments) return Bad("an output names no argument");
  output.argument = static_cast<int>(argument);
  if (expected.reduction < 1) return Bad("a reduction length below one");
  KUAFU_TRY(const int64_t at, JsonInt(item, "at"));
  KUAFU_TRY(const int64_t rows, JsonInt(item, "rows"));
  if (rows < 0 || rows > std::max<int64_t>(count, 1)) return Bad("a wrong number of rows");
  KUAFU_TRY(const int64_t e32_at, JsonInt(item, "e32_at"));
  KUAFU_TRY(const int64_t terms_at, JsonInt(item, "s_at"));
  KUAFU_TRY(expected.e32, truth.Doubles(e32_at, rows));
  KUAFU_TRY(expected.terms_rms, truth.Doubles(terms_at, rows));
  const auto dtype = tensor::IsFloat(expected.dtype) ? tensor::DType::kF64 : tensor::DType::kI64;
  KUAFU_TRY(expected.y64, truth.Values(dtype, shape, at));
  KUAFU_TRY(const int64_t inputs_at, JsonInt(item, "other_inputs_at"));
  if (inputs_at >= 0) {
    KUAFU_TRY(output.other_inputs, truth.Values(dtype, shape, inputs_at));
  }
  KUAFU_TRY(const int64_t parameters_at, JsonInt(item, "other_parameters_at"));
  if (parameters_at >= 0) {
    KUAFU_TRY(output.other_parameters, truth.Values(dtype, shape, parameters_at));
  }
  return output;
}

Result<uint64_t> ReadSeed(const Json& item, const char* key) {
  KUAFU_TRY(const std::string text, JsonString(item, key));
  const auto number = ParseInt64(text);
  if (!number.has_value()) return Bad("a seed is not a number");
  return static_cast<uint64_t>(*number);
}

Result<Trial> ReadTrial(const Json& item, const TrialSet& set, const Truth& truth) {
  Trial trial;
  KUAFU_TRY(trial.shape_label, JsonString(item, "shape_label"));
  KUAFU_TRY(trial.shape_text, JsonString(item, "shape_text"));
  KUAFU_TRY(trial.value_class, JsonString(item, "value_class"));
  KUAFU_TRY(trial.seed, ReadSeed(item, "seed"));
  KUAFU_TRY(trial.sampled, JsonBool(item, "sampled"));
  KUAFU_TRY(trial.model_seed, ReadSeed(item, "model_seed"));
  KUAFU_TRY(trial.init_json, JsonString(item, "init_json"));
  if (std::ssize(trial.init_json) > kInitJsonBytesMax) return Bad("a constructor's arguments");
  KUAFU_TRY(const Json* arguments, List(item, "arguments", task::kArgumentsMax));
  if (arguments->size() != set.task.arguments.size()) return Bad("a trial lacks arguments");
  for (const Json& argument : *arguments) {
    KUAFU_TRY(ArgumentValue value, ReadArgument(argument, set.inputs_bytes));
    trial.arguments.push_back(std::move(value));
  }
  KUAFU_TRY(const Json* outputs, List(item, "outputs", task::kArgumentsMax));
  if (outputs->empty()) return Bad("a trial without outputs");
  for (const Json& output : *outputs) {
    KUAFU_TRY(TrialOutput read, ReadOutput(output, truth, std::ssize(trial.arguments)));
    const bool is_result = read.argument < 0;
    if (!is_result && trial.arguments[static_cast<size_t>(read.argument)].kind != Kind::kTensor) {
      return Bad("an output is an argument that is no tensor");
    }
    trial.outputs.push_back(std::move(read));
  }
  return trial;
}

// The document, or the error that it reports.
Result<Json> ReadDocument(std::string_view reply) {
  KUAFU_TRY(Json document, ParseJson(reply, kReplyBytesMax));
  if (const Json* error = JsonFind(document, "error")) {
    KUAFU_TRY(const std::string code_name, JsonString(*error, "code"));
    KUAFU_TRY(std::string message, JsonString(*error, "message"));
    return Error{ParseCode(code_name).value_or(Code::kInternal), std::move(message)};
  }
  return document;
}

}  // namespace

Result<task::OperatorList> DecodeOperators(std::string_view reply) {
  KUAFU_TRY(const Json document, ReadDocument(reply));
  return task::OperatorsFromJson(document);
}

Result<TrialSet> DecodeReply(std::string_view reply, os::UniqueFd inputs,
                             const os::UniqueFd& truth_fd) {
  KUAFU_TRY(const Json document, ReadDocument(reply));
  TrialSet set;
  KUAFU_TRY_STATUS(os::CheckSealed(inputs.get(), 0));
  KUAFU_TRY(set.inputs_bytes, os::FdSize(inputs.get()));
  Truth truth;
  KUAFU_TRY_STATUS(os::CheckSealed(truth_fd.get(), 0));
  KUAFU_TRY(truth.bytes, os::FdSize(truth_fd.get()));
  if (set.inputs_bytes > kDataBytesMax || truth.bytes > kDataBytesMax) return Bad("too much data");
  KUAFU_TRY(os::Mapping mapping, os::MapFd(truth_fd.get(), truth.bytes, os::Access::kReadOnly));
  truth.mapping = std::make_shared<os::Mapping>(std::move(mapping));
  set.inputs = std::move(inputs);

  const Json* task_json = JsonFind(document, "task");
  if (task_json == nullptr) return Bad("no task");
  KUAFU_TRY(set.task, task::FromJson(*task_json));
  KUAFU_TRY(set.inputs_mutated, JsonBool(document, "inputs_mutated"));
  KUAFU_TRY(set.dropout_off, JsonBool(document, "dropout_off"));
  KUAFU_TRY(set.forward_draws, JsonBool(document, "forward_draws"));
  const Json* sizes = JsonFind(document, "sizes");
  if (sizes == nullptr || !sizes->is_object()) return Bad("no sizes");
  set.sizes_json = DumpJson(*sizes);
  if (std::ssize(set.sizes_json) > kSizesBytesMax) return Bad("too many sizes");
  KUAFU_TRY(const Json* notes, List(document, "notes", kNotesMax));
  for (const Json& note : *notes) {
    if (!note.is_string()) return Bad("a note is not text");
    set.notes.push_back(note.get<std::string>());
  }
  KUAFU_TRY(const Json* trials, List(document, "trials", kTrialsMax));
  if (trials->empty()) return Bad("no trials");
  for (const Json& item : *trials) {
    KUAFU_TRY(Trial trial, ReadTrial(item, set, truth));
    set.trials.push_back(std::move(trial));
  }
  return set;
}

}  // namespace kuafu::frontend
