// SPDX-License-Identifier: Apache-2.0
// What happened in a session, as the processes that hold one tell it to their parents: findings and
// counters as JSON, and the answer to one call of a candidate with its outputs in a memory file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "hostabi/session.h"
#include "hostabi/tensors.h"
#include "os/memfd.h"

namespace kuafu::hostabi {

// As in a verdict, but with the kind of the finding and a line of text.
Json FindingJson(const Finding& finding);
Json CountersJson(const Counters& counters);
// The findings, counters and printf output of the session since Begin().
Json SessionJson(const Session& session);

// A tensor whose content goes back to the parent.
struct Output {
  KuafuTensor* tensor = nullptr;  // alive in the session
  int argument = -1;              // -1: returned by the candidate
};

// How one call of a candidate ended.
struct Outcome {
  std::string status = "ok";  // "mismatch": the arguments do not fit; "threw"
  std::string error;
  std::vector<Output> outputs;  // empty unless ok
  std::vector<std::string> inputs_modified;
};

// {"seed": "1", "launch_lanes": n, "call_lanes": n}, or null: no sampling.
Result<CallSampling> ReadCallSampling(const Json* json);
// {"blind", "launches": [{"kernel", "blocks", "blocks_run", "given_up", "whole", "why_whole",
// "too_costly"}]}: what sampling did in this call.
Json SamplingJson(const Session& session);

struct Answer {
  Json json;
  os::UniqueFd outputs;  // sealed; invalid when there are none or they are those of order 0
};

// Answers for the calls of one candidate: each trial under order 0 first. Outputs that are bit for
// bit those of order 0 are not sent again.
class Answers {
 public:
  // `trial` and `order` are copied into the answer.
  Result<Answer> Make(Session& session, size_t trial, size_t order, const Outcome& outcome);
  // The answer for a candidate that cannot be called at all.
  static Json Refusal(std::string_view status, const std::string& error);

 private:
  struct First {
    Json outputs;
    os::Mapping bytes;
  };
  Result<os::UniqueFd> CopyOutputs(Session& session, size_t order, const Outcome& outcome,
                                   Json& answer);
  First first_;
};

}  // namespace kuafu::hostabi
