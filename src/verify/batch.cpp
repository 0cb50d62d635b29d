// SPDX-License-Identifier: Apache-2.0
// Reads lists, spreads them over threads, streams results.
#include "verify/batch.h"

#include <mutex>

#include "base/text.h"
#include "os/thread_pool.h"

namespace kuafu::verify {
namespace {

constexpr size_t kTargetsMax = 8;

Result<BatchItem> ParseItem(std::string_view line, const Request& defaults) {
  static constexpr std::string_view kKeys[] = {"id",     "reference", "kernel", "target",
                                               "plan",   "sanitize",  "seed",   "timeout_s",
                                               "policy", "nominal",   "speed"};
  KUAFU_TRY(const Json json, ParseJson(line));
  KUAFU_TRY_STATUS(JsonOnlyKeys(json, kKeys));
  BatchItem item;
  item.request = defaults;
  KUAFU_TRY(item.id, JsonString(json, "id"));
  KUAFU_TRY(item.request.reference_path, JsonString(json, "reference"));
  KUAFU_TRY(item.request.kernel_path, JsonString(json, "kernel"));
  if (JsonFind(json, "target") != nullptr) {
    KUAFU_TRY(const std::string text, JsonString(json, "target"));
    KUAFU_TRY(item.request.targets, ParseTargets(text));
  }
  if (JsonFind(json, "plan") != nullptr) {
    KUAFU_TRY(const std::string text, JsonString(json, "plan"));
    KUAFU_TRY(item.request.plan, ParsePlan(text));
  }
  if (JsonFind(json, "sanitize") != nullptr) {
    KUAFU_TRY(item.request.sanitize, JsonBool(json, "sanitize"));
  }
  if (JsonFind(json, "speed") != nullptr) {
    KUAFU_TRY(item.request.speed, JsonBool(json, "speed"));
  }
  if (JsonFind(json, "nominal") != nullptr) {
    KUAFU_TRY(item.request.nominal, JsonBool(json, "nominal"));
  }
  if (JsonFind(json, "seed") != nullptr) {
    KUAFU_TRY(const int64_t seed, JsonInt(json, "seed"));
    item.request.seed = static_cast<uint64_t>(seed);
  }
  if (JsonFind(json, "policy") != nullptr) {
    KUAFU_TRY(item.request.policy, JsonString(json, "policy"));
  }
  if (JsonFind(json, "timeout_s") != nullptr) {
    KUAFU_TRY(const int64_t seconds, JsonInt(json, "timeout_s"));
    if (seconds < 1 || seconds > 3600)
      return Error{Code::kInvalidInput, "timeout_s is not between 1 and 3600"};
    item.request.timeout_s = static_cast<int>(seconds);
  }
  return item;
}

// A fault of the machine, that is: the candidate has not been judged.
bool MayChange(const Json& line) {
  const Json* judged = JsonFind(line, "verdict");
  const Json* error = JsonFind(line, "error");
  const Json* part = judged != nullptr ? judged : error;
  if (part == nullptr) return true;
  const Result<std::string> text = JsonString(*part, judged != nullptr ? "class" : "code");
  if (!text.ok()) return false;
  if (judged != nullptr) return text.value() == verdict::ClassName(verdict::Class::kInfra);
  return text.value() == CodeName(Code::kUnavailable) ||
         text.value() == CodeName(Code::kDeadline) || text.value() == CodeName(Code::kInternal);
}

}  // namespace

Result<std::vector<device::Target>> ParseTargets(std::string_view text) {
  std::vector<device::Target> targets;
  for (const std::string_view name : Split(text, ',')) {
    KUAFU_TRY(device::Target target, device::ParseTarget(name));
    targets.push_back(std::move(target));
  }
  if (targets.size() > kTargetsMax) {
    return Error{Code::kInvalidInput, std::to_string(targets.size()) + " targets, more than " +
                                          std::to_string(kTargetsMax)};
  }
  return targets;
}

Result<frontend::Plan> ParsePlan(std::string_view text) {
  if (text == "quick") return frontend::Plan::kQuick;
  if (text == "full") return frontend::Plan::kFull;
  return Error{Code::kInvalidInput,
               "the plan '" + EscapeForMessage(text, 40) + "' is neither quick nor full"};
}

Result<std::vector<BatchItem>> ParseBatch(std::string_view text, const Request& defaults) {
  std::vector<BatchItem> items;
  std::unordered_set<std::string> ids;
  int64_t number = 0;
  for (const std::string_view line : SplitLines(text)) {
    ++number;
    if (Trim(line).empty()) continue;
    const std::string where = "line " + std::to_string(number) + " of the list";
    Result<BatchItem> item = ParseItem(line, defaults);
    if (!item.ok()) return std::move(item).error().WithContext(where);
    if (!ids.insert(item.value().id).second) {
      return Error{
          Code::kInvalidInput,
          where + ": the id '" + EscapeForMessage(item.value().id, 80) + "' is there twice"};
    }
    items.push_back(std::move(item).value());
    if (items.size() > kBatchItemsMax) {
      return Error{Code::kInvalidInput,
                   "more than " + std::to_string(kBatchItemsMax) + " candidates; split the list"};
    }
  }
  return items;
}

std::unordered_set<std::string> FinishedIds(std::string_view results) {
  std::unordered_set<std::string> ids;
  for (const std::string_view line : SplitLines(results)) {
    Result<Json> json = ParseJson(line);
    if (!json.ok()) continue;
    Result<std::string> id = JsonString(json.value(), "id");
    if (id.ok() && !MayChange(json.value())) ids.insert(std::move(id).value());
  }
  return ids;
}

BatchSummary RunBatch(Verifier& verifier, const std::vector<BatchItem>& items, int threads,
                      const std::function<void(const Json&)>& emit,
                      const std::function<bool()>& stop) {
  BatchSummary summary;
  std::mutex mutex;  // guards summary and emit
  os::ThreadPool pool({.threads = threads, .queue_max = 2 * int64_t{threads}});
  for (const BatchItem& item : items) {
    if (stop()) break;
    pool.Submit([&verifier, &item, &summary, &mutex, &emit, &stop] {
      if (stop()) return;
      Result<verdict::Verdict> verdict = verifier.Verify(item.request);
      Json line = {{"id", item.id}};
      if (verdict.ok()) {
        line["verdict"] = verdict::ToJson(verdict.value());
      } else {
        line["error"] = {{"code", CodeName(verdict.error().code)},
                         {"message", verdict.error().message}};
      }
      std::lock_guard lock(mutex);
      const bool judged = verdict.ok() && verdict.value().cls != verdict::Class::kInfra;
      ++(!judged ? summary.errors : verdict.value().pass() ? summary.passed : summary.failed);
      emit(line);
    });
  }
  pool.WaitIdle();
  return summary;
}

}  // namespace kuafu::verify
