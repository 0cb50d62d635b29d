// SPDX-License-Identifier: Apache-2.0
// Reads and writes jobs.
#include "verify/job.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/limits.h"
#include "base/text.h"
#include "verify/batch.h"

namespace kuafu::verify {
namespace {

constexpr size_t kTaskCharsMax = 200;

Status CheckOneOf(std::string_view field, std::string_view value,
                  std::initializer_list<std::string_view> known) {
  std::string list;
  for (const std::string_view item : known) {
    if (item == value) return OkStatus();
    list += (list.empty() ? "" : ", ") + std::string(item);
  }
  return Error{Code::kInvalidInput, std::string(field) + " is '" + EscapeForMessage(value, 40) +
                                        "', not one of " + list};
}

// Leaves `value` as it is when the field is absent or null.
Status TakeString(const Json& json, const char* key, std::string& value) {
  const Json* field = JsonFind(json, key);
  if (field == nullptr || field->is_null()) return OkStatus();
  KUAFU_TRY(value, JsonString(json, key));
  return OkStatus();
}

Result<int64_t> OptionalInt(const Json& json, const char* key, int64_t least, int64_t most) {
  const Json* field = JsonFind(json, key);
  if (field == nullptr || field->is_null()) return int64_t{0};
  KUAFU_TRY(const int64_t value, JsonInt(json, key));
  if (value < least || value > most) {
    return Error{Code::kInvalidInput, std::string(key) + " is " + std::to_string(value) +
                                          ", not between " + std::to_string(least) + " and " +
                                          std::to_string(most)};
  }
  return value;
}

}  // namespace

Status CheckJobId(std::string_view id) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  };
  if (!id.empty() && id.size() <= kJobIdCharsMax && std::all_of(id.begin(), id.end(), allowed))
    return OkStatus();
  return Error{Code::kInvalidInput, "the id '" + EscapeForMessage(id, 60) + "' must have 1 to " +
                                        std::to_string(kJobIdCharsMax) +
                                        " letters, digits or ._:-"};
}

Result<JobSpec> ParseJob(const Json& json) {
  static constexpr std::string_view kKeys[] = {"id",       "task",    "reference", "candidate",
                                               "form",     "target",  "plan",      "policy",
                                               "sanitize", "nominal", "seed",      "timeout_s"};
  KUAFU_TRY_STATUS(JsonOnlyKeys(json, kKeys));
  JobSpec spec;
  KUAFU_TRY_STATUS(TakeString(json, "id", spec.id));
  if (!spec.id.empty()) KUAFU_TRY_STATUS(CheckJobId(spec.id));
  KUAFU_TRY_STATUS(TakeString(json, "task", spec.task));
  if (spec.task.size() > kTaskCharsMax)
    return Error{Code::kInvalidInput, "task has more than 200 characters"};
  KUAFU_TRY(spec.reference, JsonString(json, "reference"));
  KUAFU_TRY(spec.candidate, JsonString(json, "candidate"));
  if (spec.reference.empty() || static_cast<int64_t>(spec.reference.size()) > kSourceBytesMax) {
    return Error{Code::kInvalidInput, "the reference has " + std::to_string(spec.reference.size()) +
                                          " bytes, not between 1 and " +
                                          std::to_string(kSourceBytesMax)};
  }
  KUAFU_TRY_STATUS(TakeString(json, "form", spec.form));
  KUAFU_TRY_STATUS(CheckOneOf("form", spec.form, {"cuda", "musa", "extension"}));
  KUAFU_TRY_STATUS(TakeString(json, "target", spec.target));
  if (!spec.target.empty()) {
    if (Result<std::vector<device::Target>> targets = ParseTargets(spec.target); !targets.ok())
      return std::move(targets).error();
  }
  KUAFU_TRY_STATUS(TakeString(json, "plan", spec.plan));
  KUAFU_TRY_STATUS(CheckOneOf("plan", spec.plan, {"quick", "full"}));
  KUAFU_TRY_STATUS(TakeString(json, "policy", spec.policy));
  KUAFU_TRY_STATUS(CheckOneOf("policy", spec.policy, {"", "default", "strict", "lenient", "off"}));
  if (const Json* field = JsonFind(json, "sanitize"); field != nullptr && !field->is_null()) {
    KUAFU_TRY(spec.sanitize, JsonBool(json, "sanitize"));
  }
  if (const Json* field = JsonFind(json, "nominal"); field != nullptr && !field->is_null()) {
    KUAFU_TRY(spec.nominal, JsonBool(json, "nominal"));
  }
  KUAFU_TRY(const int64_t seed, OptionalInt(json, "seed", 0, INT64_MAX));
  spec.seed = static_cast<uint64_t>(seed);
  KUAFU_TRY(const int64_t seconds, OptionalInt(json, "timeout_s", 1, kJobSecondsMax));
  spec.timeout_s = static_cast<int>(seconds);
  return spec;
}

Json ToJson(const JobSpec& spec) {
  Json json = {{"id", spec.id},
               {"task", spec.task},
               {"reference", spec.reference},
               {"candidate", spec.candidate},
               {"form", spec.form},
               {"target", spec.target},
               {"plan", spec.plan},
               {"policy", spec.policy},
               {"sanitize", spec.sanitize},
               {"nominal", spec.nominal},
               {"seed", spec.seed}};
  if (spec.timeout_s > 0) json["timeout_s"] = spec.timeout_s;
  return json;
}

std::string ContentHash(const JobSpec& spec) {
  return Hasher()
      .Add(spec.task)
      .Add(spec.reference)
      .Add(spec.candidate)
      .Add(spec.form)
      .Add(spec.target)
      .Add(spec.plan)
      .Add(spec.policy)
      .Add(spec.sanitize ? 1 : 0)
      .Add(spec.nominal ? 1 : 0)
      .Add(static_cast<int64_t>(spec.seed))
      .Add(spec.timeout_s)
      .Hex();
}

int64_t SizeBytes(const JobSpec& spec) {
  constexpr size_t kRest = 512;
  return static_cast<int64_t>(spec.reference.size() + spec.candidate.size() + kRest);
}

std::string_view JobStateName(JobState state) {
  switch (state) {
    case JobState::kQueued: return "queued";
    case JobState::kRunning: return "running";
    case JobState::kDone: return "done";
    case JobState::kCancelled: return "cancelled";
  }
  return "queued";
}

Json ToJson(const JobView& view) {
  Json json = {{"job", view.id}, {"status", JobStateName(view.state)}};
  if (view.place > 0) json["place"] = view.place;
  if (view.attempts > 0) json["attempts"] = view.attempts;
  if (view.result.is_object()) {
    for (const auto& [key, value] : view.result.items()) json[key] = value;
  }
  return json;
}

}  // namespace kuafu::verify
