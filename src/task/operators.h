// SPDX-License-Identifier: Apache-2.0
// What PyTorch in eager mode launches for one forward pass, as data: operations with the bytes and
// FLOP that they cannot avoid, and the numbers of a shape that a library's speed depends on.
// The Python helper's costs.py has the exact meaning of every number.
//
//   task::Operator map{.op = "relu", .kind = OperatorKind::kElementwise, .read_bytes = 4096};
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace kuafu::task {

inline constexpr int64_t kOperatorsMax = 32768;

enum class OperatorKind : uint8_t {
  kGemm,
  kConv,
  kDepthwise,
  kElementwise,
  kReduction,
  kScan,
  kNorm,
  kSoftmax,
  kAttention,
  kRnn,
  kPooling,
  kGather,
  kCopy,
  kFill,
  kSort,
  kRandom,
  kFft,
  kOther,  // unknown: taken for one pass over its tensors
};
inline constexpr int kOperatorKinds = static_cast<int>(OperatorKind::kOther) + 1;
std::string_view OperatorKindName(OperatorKind kind);  // "gemm"
std::optional<OperatorKind> ParseOperatorKind(std::string_view name);

// Numbers without a meaning for the kind are 0.
struct Operator {
  std::string op;  // "addmm"
  OperatorKind kind = OperatorKind::kOther;
  tensor::DType dtype = tensor::DType::kF32;  // that it computes in
  int64_t flops = 0;
  int64_t read_bytes = 0, written_bytes = 0;  // each tensor once
  int64_t m = 0, n = 0, k = 0, batch = 0;     // contractions; batch = groups of a convolution
  int64_t rows = 0, row = 0, inner = 0;       // independent rows, their length, their stride
  int64_t taps = 0, dims = 0, in_channels = 0, out_channels = 0;
  int64_t steps = 0, layers = 0;  // of recurrent networks
  bool transposed = false, strided = false, training = false;
  bool channels_last = false;  // a convolution whose operands lie as tensor cores take them
  bool tf32 = false;           // a product of fp32 matrices that may use TF32
  // Numbers of storages, to follow what is still in a cache; parallel: bytes read of each.
  std::vector<int64_t> uses, use_bytes, makes;
  std::vector<tensor::Shape> inputs, outputs;  // the first few, for people
  int64_t views = 0;                           // that the host made before it
};

struct OperatorList {
  std::vector<Operator> operators;
  std::vector<int64_t> results;  // storages that forward() returns
  int64_t input_bytes = 0, parameter_bytes = 0;
  std::string torch;  // version that listed them
};

}  // namespace kuafu::task
