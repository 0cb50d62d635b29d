// SPDX-License-Identifier: Apache-2.0
// An in-memory cache over the frontend's helper.
#include "verify/trial_store.h"

#include <algorithm>

#include "base/hash.h"
#include "os/file.h"

namespace kuafu::verify {
namespace {

constexpr size_t kEntriesMax = 256;
constexpr size_t kRefusedMax = 1024;
constexpr int64_t kDeadlineMs = 120'000;
// Of trials at the sizes as the file has them.
constexpr int64_t kNominalDeadlineMs = 400'000, kNominalMemoryBytes = int64_t{12} << 30;
constexpr int64_t kListMs = 60'000;

Result<std::string> SourceOf(const TrialQuery& query) {
  Result<std::string> source = query.reference_text.has_value()
                                   ? Result<std::string>(*query.reference_text)
                                   : os::ReadFile(query.reference_path, kSourceBytesMax);
  if (!source.ok()) return std::move(source).error().WithContext("reading the reference");
  return source;
}

}  // namespace

Result<std::unique_ptr<TrialStore>> TrialStore::Start(const std::string& cache_dir) {
  auto store = std::make_unique<TrialStore>();
  frontend::Helper::Options options;
  options.cache_dir = cache_dir;
  KUAFU_TRY(store->helper_, frontend::Helper::Start(options));
  return store;
}

std::optional<Result<std::shared_ptr<const frontend::TrialSet>>> TrialStore::Find(const Key& key) {
  std::lock_guard lock(mutex_);
  ++clock_;
  if (const auto it = entries_.find(key); it != entries_.end()) {
    it->second.used = clock_;
    return it->second.set;
  }
  if (const auto it = refused_.find(key); it != refused_.end()) return it->second;
  return std::nullopt;
}

Result<std::shared_ptr<const frontend::TrialSet>> TrialStore::Get(const TrialQuery& query) {
  KUAFU_TRY(std::string source, SourceOf(query));
  const Key key{Hasher().Add(query.reference_path).Add(source).Hex(),
                query.plan,
                query.seed,
                query.nominal_only,
                query.nominal_trial,
                query.as_built,
                query.compat_kernelbench};
  if (auto known = Find(key)) return *std::move(known);
  std::lock_guard making(making_);
  if (auto known = Find(key)) return *std::move(known);  // made meanwhile
  frontend::TrialRequest request;
  request.source = std::move(source);
  request.name = os::BaseName(query.reference_path);
  request.plan = query.plan;
  request.seed = query.seed;
  request.nominal_only = query.nominal_only;
  request.nominal_trial = query.nominal_trial;
  const bool large = query.nominal_only || query.nominal_trial;
  if (large) request.memory_bytes = kNominalMemoryBytes;
  request.as_built = query.as_built;
  request.compat_kernelbench = query.compat_kernelbench;
  Result<frontend::TrialSet> made =
      helper_->MakeTrials(request, os::Deadline::AfterMs(large ? kNominalDeadlineMs : kDeadlineMs));
  std::lock_guard lock(mutex_);
  if (!made.ok()) {
    // A file that is at fault stays so; anything else may pass when tried again.
    if (made.error().code == Code::kInvalidInput && refused_.size() < kRefusedMax)
      refused_.emplace(key, made.error());
    return std::move(made).error();
  }
  if (entries_.size() >= kEntriesMax) {
    entries_.erase(std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  auto set = std::make_shared<const frontend::TrialSet>(std::move(made).value());
  entries_.emplace(key, Entry{set, clock_});
  return set;
}

Result<std::shared_ptr<const task::OperatorList>> TrialStore::ListOperators(
    const TrialQuery& query, const std::string& sizes_json) {
  KUAFU_TRY(std::string source, SourceOf(query));
  const std::string key = Hasher().Add(source).Add(sizes_json).Hex();
  const auto find = [&]() -> std::optional<Result<std::shared_ptr<const task::OperatorList>>> {
    std::lock_guard lock(mutex_);
    const auto it = lists_.find(key);
    return it == lists_.end() ? std::nullopt : std::optional(it->second);
  };
  if (auto known = find()) return *std::move(known);
  std::lock_guard making(making_);
  if (auto known = find()) return *std::move(known);  // made meanwhile
  Result<task::OperatorList> made =
      helper_->ListOperators({.source = std::move(source),
                              .name = os::BaseName(query.reference_path),
                              .sizes_json = sizes_json},
                             os::Deadline::AfterMs(kListMs));
  if (!made.ok() && made.error().code == Code::kUnavailable) return std::move(made).error();
  std::lock_guard lock(mutex_);
  if (lists_.size() >= kEntriesMax) lists_.clear();
  Result<std::shared_ptr<const task::OperatorList>> kept =
      made.ok() ? Result<std::shared_ptr<const task::OperatorList>>(
                      std::make_shared<const task::OperatorList>(std::move(made).value()))
                : Result<std::shared_ptr<const task::OperatorList>>(std::move(made).error());
  lists_.emplace(key, kept);
  return kept;
}

}  // namespace kuafu::verify
