// SPDX-License-Identifier: Apache-2.0
// The request of the runner's trials mode, parsed. Private to the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hostabi/session.h"
#include "hostabi/tensors.h"

namespace kuafu::runner {

inline constexpr size_t kTrialsMax = 4096;
inline constexpr size_t kOrdersMax = 256;
inline constexpr size_t kArgumentsMax = 1024;
inline constexpr size_t kListMax = 4096;

struct Argument {
  int32_t kind = KUAFU_NONE;
  std::string name;
  // Tensors. The storage lies at storage_at of the inputs.
  hostabi::TensorLayout layout;
  int64_t storage_at = 0, storage_bytes = 0;
  bool output = false;  // the reference changes it: its content is a result
  // Scalars and lists.
  int64_t integer = 0;
  double real = 0;
  std::vector<int64_t> integers;
};

struct Trial {
  std::vector<Argument> arguments;
  bool skip = false;  // not asked for; it keeps the numbers of the others
  hostabi::CallSampling sampling;
};

struct Request {
  hostabi::SessionOptions options;
  std::vector<uint64_t> order_seeds;
  std::vector<Trial> trials;
  bool check_inputs = true;
  int64_t inputs_bytes = 0;  // that the inputs must have at least
};

// invalid_input with the field that is wrong.
Result<Request> ParseRequest(std::string_view text);

}  // namespace kuafu::runner
