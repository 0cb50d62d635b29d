// SPDX-License-Identifier: Apache-2.0
// Many candidates: a list in, a stream of verdicts out, in the order in which they finish.
//
//   {"id": "softmax-17", "reference": "ref.py", "kernel": "a.cu", "target": "sim:h100"}
//   {"id": "softmax-17", "verdict": {...}}     or    {"id": ..., "error": {"code", "message"}}
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "verify/verify.h"

namespace kuafu::verify {

inline constexpr int64_t kBatchBytesMax = int64_t{256} << 20;
inline constexpr size_t kBatchItemsMax = 1'000'000;

struct BatchItem {
  std::string id;
  Request request;
};

// One JSON object a line; `defaults` gives what a line leaves out (target, plan, sanitize, seed,
// timeout_s). invalid_input names the line.
Result<std::vector<BatchItem>> ParseBatch(std::string_view text, const Request& defaults);

// The ids in results written earlier, so that an interrupted batch can go on. A last line that was
// cut short is no result, nor is a fault of the machine (class infra, code unavailable).
std::unordered_set<std::string> FinishedIds(std::string_view results);

// Errors: the request was unusable, or the verdict is infra.
struct BatchSummary {
  int64_t passed = 0, failed = 0, errors = 0;
};

// `emit` gets one line of JSON for each item, never from two threads at once. `stop` is asked
// before each item is started.
BatchSummary RunBatch(Verifier& verifier, const std::vector<BatchItem>& items, int threads,
                      const std::function<void(const Json&)>& emit,
                      const std::function<bool()>& stop);

// "sim:h100,sim:mtt-s4000".
Result<std::vector<device::Target>> ParseTargets(std::string_view text);
Result<frontend::Plan> ParsePlan(std::string_view text);

}  // namespace kuafu::verify
