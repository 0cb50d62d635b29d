// SPDX-License-Identifier: Apache-2.0
// Keeps jobs in their order, answers for a while, and what must be written down of both.
#include "verify/service_jobs.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"

namespace kuafu::verify {

void Tell(std::vector<Told>& told) {
  for (Told& one : told) one.first(std::move(one.second));
  told.clear();
}

Json EndEvent(const std::string& id, const std::string& hash, int64_t wall_ns, int attempts,
              const Json& result) {
  return {{"event", "end"},       {"id", id},        {"hash", hash}, {"wall_ns", wall_ns},
          {"attempts", attempts}, {"result", result}};
}

Json BatchEvent(const Batch& batch) {
  return {{"event", "batch"}, {"id", batch.id}, {"hash", batch.hash}, {"jobs", batch.jobs}};
}

Job* JobTable::Find(const std::string& id) {
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? nullptr : at->second.get();
}

const Job* JobTable::Find(const std::string& id) const {
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? nullptr : at->second.get();
}

const Batch* JobTable::FindBatch(const std::string& id) const {
  const auto at = batches_.find(id);
  return at == batches_.end() ? nullptr : &at->second;
}

bool JobTable::Known(const std::string& id) const {
  return jobs_.contains(id) || batches_.contains(id) || expired_.contains(Hash64(id));
}

Result<JobView> JobTable::View(const std::string& id) const {
  const Job* job = Find(id);
  if (job == nullptr) {
    const std::string name = "the job '" + EscapeForMessage(id, 80) + "'";
    if (expired_.contains(Hash64(id)))
      return Error{Code::kCancelled, name + " has ended and its answer is no longer kept"};
    return Error{Code::kNotFound, "there is no job '" + EscapeForMessage(id, 80) + "'"};
  }
  JobView view{.id = id, .state = job->state, .result = job->result, .attempts = job->attempts};
  if (job->state == JobState::kQueued) {
    view.place = 1;
    for (const Job* other : queue_) {
      if (other == job) break;
      ++view.place;
    }
  }
  return view;
}

Result<BatchView> JobTable::ViewBatch(const std::string& id) const {
  const Batch* batch = FindBatch(id);
  if (batch == nullptr) {
    const std::string name = "'" + EscapeForMessage(id, 80) + "'";
    if (expired_.contains(Hash64(id)))
      return Error{Code::kCancelled, "the batch " + name + " is no longer kept"};
    return Error{Code::kNotFound, "there is no batch " + name};
  }
  BatchView view{.id = id};
  for (const std::string& name : batch->jobs) {
    if (const Job* job = Find(name)) {
      view.jobs.push_back(
          {.id = name, .state = job->state, .result = job->result, .attempts = job->attempts});
    } else {
      view.gone.push_back(name);
    }
  }
  return view;
}

void JobTable::Queue(JobSpec spec, int64_t now_ns) {
  if (Find(spec.id) != nullptr) Forget(spec.id);
  auto job = std::make_unique<Job>();
  job->id = spec.id;
  job->hash = ContentHash(spec);
  job->accepted_ns = now_ns;
  bytes_ += SizeBytes(spec);
  job->spec = std::move(spec);
  queue_.push_back(job.get());
  jobs_[job->id] = std::move(job);
}

void JobTable::AddBatch(Batch batch) {
  batch_order_.push_back(batch.id);
  const std::string id = batch.id;
  batches_[id] = std::move(batch);
}

Job& JobTable::Start() {
  Job* job = queue_.front();
  queue_.pop_front();
  job->state = JobState::kRunning;
  return *job;
}

// Its sources are no longer needed.
void JobTable::Ended(Job& job, int64_t now_ns) {
  bytes_ -= SizeBytes(job.spec);
  job.spec = {};
  job.ended_ns = now_ns;
  job.result_bytes = static_cast<int64_t>(DumpJson(job.result).size());
  kept_bytes_ += job.result_bytes;
  ended_.push_back(&job);
}

void JobTable::End(Job& job, Json result, bool infra, int64_t now_ns, std::vector<Told>& told) {
  job.state = JobState::kDone;
  job.result = std::move(result);
  job.infra = infra;
  Ended(job, now_ns);
  for (Job::Waiting& wait : job.waits) told.emplace_back(std::move(wait.then), View(job.id));
  job.waits.clear();
}

void JobTable::Cancel(Job& job, int64_t now_ns, std::vector<Told>& told) {
  queue_.remove(&job);
  job.state = JobState::kCancelled;
  Ended(job, now_ns);
  for (Job::Waiting& wait : job.waits) told.emplace_back(std::move(wait.then), View(job.id));
  job.waits.clear();
}

void JobTable::RefuseQueued(const Error& error, std::vector<Told>& told) {
  for (Job* job : queue_) {
    for (Job::Waiting& wait : job->waits) told.emplace_back(std::move(wait.then), error);
    job->waits.clear();
  }
}

void JobTable::RefuseAll(const Error& error, std::vector<Told>& told) {
  for (auto& [id, job] : jobs_) {
    for (Job::Waiting& wait : job->waits) told.emplace_back(std::move(wait.then), error);
    job->waits.clear();
  }
}

void JobTable::EndWaits(int64_t now_ns, std::vector<Told>& told) {
  for (auto& [id, job] : jobs_) {
    if (job->waits.empty()) continue;
    const auto due = [&](const Job::Waiting& wait) { return wait.deadline_ns <= now_ns; };
    for (Job::Waiting& wait : job->waits) {
      if (due(wait)) told.emplace_back(std::move(wait.then), View(id));
    }
    std::erase_if(job->waits, due);
  }
}

void JobTable::Remember(const std::string& id) {
  const uint64_t hash = Hash64(id);
  if (!expired_.insert(hash).second) return;
  expired_order_.push_back(hash);
  if (expired_order_.size() <= kExpiredIdsMax) return;
  expired_.erase(expired_order_.front());
  expired_order_.pop_front();
}

// Of a job that has ended.
void JobTable::Forget(const std::string& id) {
  Job* job = Find(id);
  kept_bytes_ -= job->result_bytes;
  ended_.remove(job);
  jobs_.erase(id);
}

int64_t JobTable::Expire(int64_t now_ns) {
  int64_t count = 0;
  while (!ended_.empty()) {
    const Job& oldest = *ended_.front();
    if (now_ns - oldest.ended_ns < limits_.keep_ns && kept() <= limits_.keep_max &&
        kept_bytes_ <= limits_.keep_bytes_max) {
      break;
    }
    const std::string id = oldest.id;
    Remember(id);
    Forget(id);
    ++count;
  }
  // A batch goes when all its jobs have gone, the oldest first.
  while (!batch_order_.empty()) {
    const Batch& batch = batches_.at(batch_order_.front());
    const auto lives = [&](const std::string& id) { return jobs_.contains(id); };
    const bool many = static_cast<int64_t>(batches_.size()) > limits_.keep_max;
    if (!many && std::any_of(batch.jobs.begin(), batch.jobs.end(), lives)) break;
    Remember(batch.id);
    batches_.erase(batch_order_.front());
    batch_order_.pop_front();
  }
  return count;
}

std::vector<Json> JobTable::Events(int64_t now_ns, int64_t wall_ns) const {
  std::vector<Json> events;
  // When they ended on the machine's calendar, by the distance between two of its clocks.
  for (const Job* job : ended_) {
    if (job->state == JobState::kDone && !job->infra)
      events.push_back(EndEvent(job->id, job->hash, wall_ns - now_ns + job->ended_ns, job->attempts,
                                job->result));
  }
  // Those that run come before those that wait: they were first.
  for (const auto& [id, job] : jobs_) {
    if (job->state == JobState::kRunning)
      events.push_back({{"event", "job"}, {"spec", ToJson(job->spec)}});
  }
  for (const Job* job : queue_) events.push_back({{"event", "job"}, {"spec", ToJson(job->spec)}});
  for (const std::string& id : batch_order_) events.push_back(BatchEvent(batches_.at(id)));
  return events;
}

Status JobTable::ReplayEnd(const Json& event, int64_t now_ns, int64_t wall_ns) {
  KUAFU_TRY(const std::string id, JsonString(event, "id"));
  KUAFU_TRY(const std::string hash, JsonString(event, "hash"));
  KUAFU_TRY(const int64_t ended_wall_ns, JsonInt(event, "wall_ns"));
  KUAFU_TRY(const int64_t attempts, JsonInt(event, "attempts"));
  const Json* result = JsonFind(event, "result");
  if (result == nullptr || !result->is_object())
    return Error{Code::kCorrupt, "an end without a result"};
  const int64_t age_ns = std::max<int64_t>(wall_ns - ended_wall_ns, 0);
  Job* job = Find(id);
  if (job == nullptr) {
    auto fresh = std::make_unique<Job>();
    job = fresh.get();
    job->id = id;
    bytes_ += SizeBytes(job->spec);
    jobs_[id] = std::move(fresh);
  } else if (job->state == JobState::kQueued) {
    queue_.remove(job);
  } else {
    return Error{Code::kCorrupt, "the job '" + EscapeForMessage(id, 80) + "' ends twice"};
  }
  job->hash = hash;
  job->attempts = static_cast<int>(std::clamp<int64_t>(attempts, 0, 1000));
  std::vector<Told> nobody;
  End(*job, *result, false, now_ns - age_ns, nobody);
  return OkStatus();
}

Status JobTable::Replay(const Json& event, int64_t now_ns, int64_t wall_ns) {
  KUAFU_TRY(const std::string kind, JsonString(event, "event"));
  if (kind == "job") {
    const Json* json = JsonFind(event, "spec");
    if (json == nullptr) return Error{Code::kCorrupt, "a job without its fields"};
    KUAFU_TRY(JobSpec spec, ParseJob(*json));
    KUAFU_TRY_STATUS(CheckJobId(spec.id));
    if (const Job* job = Find(spec.id); job != nullptr && job->state == JobState::kQueued)
      return OkStatus();
    Queue(std::move(spec), now_ns);
    return OkStatus();
  }
  if (kind == "end") return ReplayEnd(event, now_ns, wall_ns);
  if (kind == "cancel") {
    KUAFU_TRY(const std::string id, JsonString(event, "id"));
    std::vector<Told> nobody;
    if (Job* job = Find(id); job != nullptr && job->state == JobState::kQueued)
      Cancel(*job, now_ns, nobody);
    return OkStatus();
  }
  if (kind == "batch") {
    Batch batch;
    KUAFU_TRY(batch.id, JsonString(event, "id"));
    KUAFU_TRY(batch.hash, JsonString(event, "hash"));
    const Json* jobs = JsonFind(event, "jobs");
    if (jobs == nullptr || !jobs->is_array()) return Error{Code::kCorrupt, "a batch without jobs"};
    for (const Json& id : *jobs) {
      if (id.is_string()) batch.jobs.push_back(id.get<std::string>());
    }
    if (FindBatch(batch.id) == nullptr) AddBatch(std::move(batch));
    return OkStatus();
  }
  return Error{Code::kCorrupt, "an event of the kind '" + EscapeForMessage(kind, 40) + "'"};
}

}  // namespace kuafu::verify
