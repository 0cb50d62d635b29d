// SPDX-License-Identifier: Apache-2.0
// What a reference computes, as data (task.json, version 1): entry arguments in binding order, the
// ATen trace as flat SSA, outputs. Written by the Python helper, hence read with limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tensor/tensor.h"

namespace kuafu::task {

inline constexpr int64_t kTaskBytesMax = int64_t{16} << 20;
inline constexpr int64_t kArgumentsMax = 4096;
inline constexpr int64_t kTraceMax = 65536;

enum class Origin : uint8_t { kInput, kParameter, kBuffer, kScalar };
std::string_view OriginName(Origin origin);

struct Argument {
  std::string name;
  Origin origin = Origin::kInput;
  tensor::DType dtype = tensor::DType::kF32;
  tensor::Shape shape;
  Json value;  // of a scalar; null otherwise
};

struct Operation {
  std::string op;               // "aten.mm.default"
  std::vector<int64_t> inputs;  // value numbers; results of operation i follow those before it
  std::vector<int64_t> results;
  std::vector<tensor::Shape> shapes;  // of the results
  int64_t reduction = 1;              // K
};

struct Output {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  tensor::Shape shape;
};

struct Task {
  std::string name;
  std::string source_hash;
  std::vector<Argument> arguments;
  std::vector<Operation> trace;
  std::vector<Output> outputs;
  int64_t reduction_max = 1;
};

// How many arguments, the first ones, are what forward() takes.
int64_t InputCount(const Task& task);

Json ToJson(const Task& task);
Result<Task> FromJson(const Json& document);

}  // namespace kuafu::task
