// SPDX-License-Identifier: Apache-2.0
// Trial sets by reference, plan and seed, made once however many candidates ask for them.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "base/result.h"
#include "frontend/frontend.h"

namespace kuafu::verify {

struct TrialQuery {
  std::string reference_path;
  std::optional<std::string> reference_text;  // instead of the file; the path is its name then
  frontend::Plan plan = frontend::Plan::kQuick;
  uint64_t seed = 0;
  // As in frontend::TrialRequest.
  bool nominal_only = false, nominal_trial = false, as_built = false, compat_kernelbench = false;
};

// Safe to use from several threads. Sets beyond a bound are dropped, least recently used first;
// those handed out stay valid.
class TrialStore {
 public:
  static Result<std::unique_ptr<TrialStore>> Start(const std::string& cache_dir);
  Result<std::shared_ptr<const frontend::TrialSet>> Get(const TrialQuery& query);
  // What PyTorch would launch for the reference at `sizes_json` (of a set, or {} = as written).
  Result<std::shared_ptr<const task::OperatorList>> ListOperators(const TrialQuery& query,
                                                                  const std::string& sizes_json);

 private:
  // Source hash, so that a reference edited between two requests is read again.
  using Key = std::tuple<std::string, frontend::Plan, uint64_t, bool, bool, bool, bool>;
  struct Entry {
    std::shared_ptr<const frontend::TrialSet> set;
    int64_t used = 0;
  };
  // What is known about a reference: a set, the reason why there is none, or nothing yet.
  std::optional<Result<std::shared_ptr<const frontend::TrialSet>>> Find(const Key& key);

  // Taken before mutex_. One thread makes a set, for seconds; those that ask for sets that are
  // there do not wait for it.
  std::mutex making_;
  std::unique_ptr<frontend::Helper> helper_;  // guarded by making_
  std::mutex mutex_;                          // guards everything below
  std::map<Key, Entry> entries_;
  std::map<Key, Error> refused_;
  // By the source's hash and the sizes.
  std::map<std::string, Result<std::shared_ptr<const task::OperatorList>>> lists_;
  int64_t clock_ = 0;
};

}  // namespace kuafu::verify
