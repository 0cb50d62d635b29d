// SPDX-License-Identifier: Apache-2.0
// torch.compile where it is simple.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "eager/model.h"

namespace kuafu::eager {
namespace {

using task::Operator;
using task::OperatorKind;

bool IsMap(const Operator& op) {
  return op.kind == OperatorKind::kElementwise ||
         ((op.kind == OperatorKind::kCopy || op.kind == OperatorKind::kFill) && !op.strided);
}
bool EndsRun(const Operator& op) {
  return op.kind == OperatorKind::kReduction || op.kind == OperatorKind::kSoftmax ||
         op.kind == OperatorKind::kNorm;
}

// [begin, end) as one kernel. `last_use` of each value is an index into the whole list.
Operator Join(const task::OperatorList& list, size_t begin, size_t end,
              const std::unordered_map<int64_t, size_t>& last_use) {
  const std::vector<Operator>& all = list.operators;
  Operator joined = all[end - 1];  // its shape decides
  joined.op = "fused " + std::to_string(end - begin);
  joined.flops = joined.read_bytes = joined.written_bytes = joined.views = 0;
  joined.uses.clear();
  joined.use_bytes.clear();
  joined.makes.clear();
  std::vector<int64_t> inside;
  const auto has = [](const std::vector<int64_t>& values, int64_t value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  for (size_t i = begin; i < end; ++i) {
    joined.flops += all[i].flops;
    for (size_t u = 0; u < all[i].uses.size(); ++u) {
      const int64_t value = all[i].uses[u];
      if (has(inside, value) || has(joined.uses, value)) continue;
      joined.uses.push_back(value);
      joined.use_bytes.push_back(all[i].use_bytes[u]);
      joined.read_bytes += all[i].use_bytes[u];
    }
    bool kept = i + 1 == end;
    for (const int64_t value : all[i].makes) {
      const auto it = last_use.find(value);
      const bool later = (it != last_use.end() && it->second >= end) || has(list.results, value);
      // Written in place further on: the last writer counts.
      bool again = false;
      for (size_t j = i + 1; j < end; ++j) again = again || has(all[j].makes, value);
      kept = kept || (later && !again);
      inside.push_back(value);
    }
    if (!kept) continue;
    joined.written_bytes += all[i].written_bytes;
    joined.makes.insert(joined.makes.end(), all[i].makes.begin(), all[i].makes.end());
  }
  return joined;
}

}  // namespace

task::OperatorList Fused(const task::OperatorList& list) {
  task::OperatorList fused = list;
  fused.operators.clear();
  const std::vector<Operator>& all = list.operators;
  std::unordered_map<int64_t, size_t> last_use;
  for (size_t i = 0; i < all.size(); ++i) {
    for (const int64_t value : all[i].uses) last_use[value] = i;
  }
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin;
    while (end < all.size() && IsMap(all[end])) ++end;
    if (end < all.size() && end > begin && EndsRun(all[end])) ++end;
    if (end > begin + 1) {
      fused.operators.push_back(Join(list, begin, end, last_use));
    } else {
      end = begin + 1;
      fused.operators.push_back(all[begin]);
      Operator& one = fused.operators.back();
      one.views = 0;
      // Generated too, and not with the blocks of PyTorch's own kernel.
      if (one.op.find("layer_norm") != std::string::npos) one.op = "fused 1";
    }
    begin = end;
  }
  return fused;
}

}  // namespace kuafu::eager
