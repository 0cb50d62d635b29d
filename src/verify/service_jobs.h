// SPDX-License-Identifier: Apache-2.0
// The jobs and batches of a service, without threads: its owner has the lock. Private to it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "verify/job.h"
#include "verify/service.h"
#include "verify/service_metrics.h"

namespace kuafu::verify {

using Then = std::function<void(Result<JobView>)>;
// A wait that has ended, to be told without the lock.
using Told = std::pair<Then, Result<JobView>>;
void Tell(std::vector<Told>& told);

struct Job {
  std::string id, hash;
  JobSpec spec;  // empty once it has ended
  JobState state = JobState::kQueued;
  Json result;
  bool infra = false;  // ended without an answer: may be sent again
  int attempts = 0;
  int64_t accepted_ns = 0, ended_ns = 0;
  int64_t result_bytes = 0;
  struct Waiting {
    int64_t deadline_ns = 0;
    Then then;
  };
  std::vector<Waiting> waits;

  bool MayRunAgain() const {
    return state == JobState::kCancelled || (state == JobState::kDone && infra);
  }
};

struct Batch {
  std::string id, hash;
  std::vector<std::string> jobs;
};

Json EndEvent(const std::string& id, const std::string& hash, int64_t wall_ns, int attempts,
              const Json& result);
Json BatchEvent(const Batch& batch);

class JobTable {
 public:
  struct Limits {
    int64_t keep_ns = 0, keep_max = 0, keep_bytes_max = 0;
  };
  void SetLimits(const Limits& limits) { limits_ = limits; }

  int64_t queued() const { return static_cast<int64_t>(queue_.size()); }
  int64_t bytes() const { return bytes_; }  // of jobs that have not ended
  int64_t kept() const { return static_cast<int64_t>(ended_.size()); }

  Job* Find(const std::string& id);
  const Job* Find(const std::string& id) const;
  const Batch* FindBatch(const std::string& id) const;
  // A job, a batch, or what used to be one.
  bool Known(const std::string& id) const;
  Result<JobView> View(const std::string& id) const;
  Result<BatchView> ViewBatch(const std::string& id) const;

  // In place of an ended one of this id, if there is one that may run again.
  void Queue(JobSpec spec, int64_t now_ns);
  void AddBatch(Batch batch);
  // The first of the queue, which must not be empty. The reference is good until the job ends.
  Job& Start();
  void End(Job& job, Json result, bool infra, int64_t now_ns, std::vector<Told>& told);
  void Cancel(Job& job, int64_t now_ns, std::vector<Told>& told);
  // Ends the waits for queued jobs, and for all jobs.
  void RefuseQueued(const Error& error, std::vector<Told>& told);
  void RefuseAll(const Error& error, std::vector<Told>& told);
  void EndWaits(int64_t now_ns, std::vector<Told>& told);
  // Forgets answers that are too old or too many; how many.
  int64_t Expire(int64_t now_ns);

  // What a journal must hold for all this to come back.
  std::vector<Json> Events(int64_t now_ns, int64_t wall_ns) const;
  Status Replay(const Json& event, int64_t now_ns, int64_t wall_ns);

 private:
  void Ended(Job& job, int64_t now_ns);
  void Forget(const std::string& id);
  void Remember(const std::string& id);
  Status ReplayEnd(const Json& event, int64_t now_ns, int64_t wall_ns);

  Limits limits_;
  std::map<std::string, std::unique_ptr<Job>> jobs_;
  std::list<Job*> queue_;
  std::list<Job*> ended_;  // the oldest first
  std::map<std::string, Batch> batches_;
  std::deque<std::string> batch_order_;
  int64_t bytes_ = 0, kept_bytes_ = 0;
  // Ids that are gone, so that "expired" and "never was" differ; bounded.
  std::unordered_set<uint64_t> expired_;
  std::deque<uint64_t> expired_order_;
};

}  // namespace kuafu::verify
