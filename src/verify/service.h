// SPDX-License-Identifier: Apache-2.0
// The verifier as a service, without HTTP: a bounded queue of jobs, answers kept for a while, and
// nothing lost or judged twice.
//
//   KUAFU_TRY(auto service, verify::Service::Start(options, judge));
//   KUAFU_TRY(verify::Submitted job, service->Submit(spec));
//   service->Wait(job.id, deadline_ns, [](const verify::JobView& view) { ... });
//
// A job is judged by one thread at a time and ends once: with a verdict, or with an error when its
// reference is unusable. A fault of the verifier itself is tried again and never scored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "os/clock.h"
#include "verdict/verdict.h"
#include "verify/job.h"

namespace kuafu::verify {

inline constexpr size_t kExpiredIdsMax = 100'000;

struct Submitted {
  std::string id;
  bool known = false;  // it was there before, with the same content
};

struct SubmittedBatch {
  std::string id;
  bool known = false;
  std::vector<std::string> jobs;
};

struct BatchView {
  std::string id;
  std::vector<JobView> jobs;
  std::vector<std::string> gone;  // ids whose answers have expired
};

struct ServiceCounts {
  int64_t queued = 0, running = 0, kept = 0;
  int64_t retry_after_s = 1;  // for whoever is refused
  bool draining = false;
};

struct ServiceOptions {
  int threads = 1;  // jobs at a time, compiling or running
  int64_t queue_max = 256;
  int64_t queue_bytes_max = int64_t{512} << 20;  // sources of queued and running jobs
  int infra_retries = 2;
  int64_t retry_pause_ms = 200;
  int64_t keep_s = 3600;      // how long an answer can be fetched
  int64_t keep_max = 20'000;  // answers; the oldest go first
  int64_t keep_bytes_max = int64_t{512} << 20;
  std::string store_dir;             // of the journal; empty = nothing survives a restart
  const os::Clock* clock = nullptr;  // borrowed; nullptr = the machine's
};

// Judges one job; called from the service's threads, several at a time.
using JudgeFn = std::function<Result<verdict::Verdict>(const JobSpec&)>;

// Safe to use from several threads.
class Service {
 public:
  // With a store: answers for what it finished before, and goes on with what was queued.
  static Result<std::unique_ptr<Service>> Start(ServiceOptions options, JudgeFn judge);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // exhausted: the queue is full; unavailable: draining; already_exists: the id stands for other
  // content.
  Result<Submitted> Submit(JobSpec spec);
  // All of them or none. `id` empty = one is made.
  Result<SubmittedBatch> SubmitBatch(std::string id, std::vector<JobSpec> specs);

  // not_found: there never was such a job; cancelled: there was, and its answer has expired.
  Result<JobView> Find(const std::string& id) const;
  Result<BatchView> FindBatch(const std::string& id) const;
  // Calls `then` once, when the job has ended or at `deadline_ns` of the clock, whichever is first;
  // at once when it has ended already. From any thread, with no lock held.
  void Wait(const std::string& id, int64_t deadline_ns, std::function<void(Result<JobView>)> then);
  // Only while it is queued; a job that runs or has ended stays as it is, and so says the view.
  Result<JobView> Cancel(const std::string& id);

  // Ends waits whose time has come and forgets old answers; to be called a few times a second.
  void Tick();

  // No new jobs. Those that run are finished; those that are queued stay in the journal, if there
  // is one, and are answered with `unavailable`.
  void BeginDrain();
  // Answers everybody who waits with the error; for when draining takes too long.
  void EndWaits(const Error& error);
  // True when nothing runs any more.
  bool Drained() const;

  ServiceCounts counts() const;
  // Prometheus text, version 0.0.4.
  std::string Metrics() const;

 private:
  struct Impl;
  explicit Service(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kuafu::verify
