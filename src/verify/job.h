// SPDX-License-Identifier: Apache-2.0
// A job of the service: what is asked for, how far it is, and the JSON of both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kuafu::verify {

inline constexpr size_t kJobIdCharsMax = 128;
inline constexpr int64_t kJobSecondsMax = 600;

// What is asked for; the fields of a request to POST /v1/verify.
struct JobSpec {
  std::string id;                    // of the client; empty = one is made
  std::string task;                  // a name for the record; may be empty
  std::string reference, candidate;  // texts
  std::string form = "cuda";         // cuda, musa or extension
  std::string target;                // comma-separated; empty = one that fits the form
  std::string plan = "quick";        // quick or full
  std::string policy;                // of legality: default, strict, lenient, off; empty = default
  bool sanitize = true;
  bool nominal = false;  // as in Request
  uint64_t seed = 0;
  int timeout_s = 0;  // 0 = the plan's own
};

// invalid_input names the field; a field that is not known is refused. What is wrong with the
// candidate is for the verdict: any text is accepted.
Result<JobSpec> ParseJob(const Json& json);
Json ToJson(const JobSpec& spec);
// Of everything but the id.
std::string ContentHash(const JobSpec& spec);
// What it occupies while it waits.
int64_t SizeBytes(const JobSpec& spec);

// Letters, digits and ._:- only, so that it fits into a path and a log.
Status CheckJobId(std::string_view id);

enum class JobState : uint8_t { kQueued, kRunning, kDone, kCancelled };
std::string_view JobStateName(JobState state);

struct JobView {
  std::string id;
  JobState state = JobState::kQueued;
  Json result;        // of kDone: {"verdict": {...}} or {"error": {"code", "message"}}
  int attempts = 0;   // more than one: the verifier itself had failed
  int64_t place = 0;  // in the queue, from 1; 0 = not queued, or not asked for
};
// {"job", "status", "attempts", "verdict" | "error"}.
Json ToJson(const JobView& view);

}  // namespace kuafu::verify
