// SPDX-License-Identifier: Apache-2.0
// One table of jobs under one mutex; threads take the first that is queued. What is told to others
// (waits) is told without the mutex.
#include "verify/service.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/hash.h"
#include "base/text.h"
#include "os/thread_pool.h"
#include "trace/trace.h"
#include "verify/journal.h"
#include "verify/service_jobs.h"

namespace kuafu::verify {
namespace {

constexpr int64_t kJournalBytesBeforeRewrite = int64_t{256} << 20;

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// Another attempt may do better: something of ours has failed, or was killed.
bool IsInfra(const Result<verdict::Verdict>& judged) {
  if (judged.ok()) return judged.value().cls == verdict::Class::kInfra;
  switch (judged.error().code) {
    case Code::kUnavailable:
    case Code::kCancelled:
    case Code::kExhausted:
    case Code::kCorrupt:
    case Code::kInternal: return true;
    case Code::kInvalidInput:
    case Code::kDeadline:  // the reference is too slow, and would be again
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kUnsupported: break;
  }
  return false;
}

Json ResultOf(const Result<verdict::Verdict>& judged) {
  if (!judged.ok()) {
    return {
        {"error", {{"code", CodeName(judged.error().code)}, {"message", judged.error().message}}}};
  }
  verdict::Verdict verdict = judged.value();
  if (verdict.cls == verdict::Class::kInfra) verdict.reward = {};  // no sample, never a number
  return {{"verdict", verdict::ToJson(verdict)}};
}

}  // namespace

struct Service::Impl {
  ServiceOptions options;
  JudgeFn judge;
  const os::Clock* clock = nullptr;
  mutable std::mutex mutex;  // guards what follows, up to `threads`
  std::condition_variable work_or_stop;
  JobTable table;
  ServiceMetrics metrics;
  std::unique_ptr<Journal> journal;
  int64_t running = 0;
  uint64_t next_id = 1;
  std::string id_base;
  bool draining = false, stopping = false;
  std::unique_ptr<os::ThreadPool> threads;  // last: its threads use all of the above

  std::string NewId(std::string_view kind);
  Status Room(int64_t jobs, int64_t bytes);
  // What the submission of `spec` would do; queues nothing.
  Result<bool> IsKnown(const JobSpec& spec) const;
  Status Queue(JobSpec spec);
  Status Record(const Json& event);
  void RewriteIfLarge();
  int64_t RetryAfterSeconds() const;
  Status Restore();
  void Run();
  void End(Job& job, const Result<verdict::Verdict>& judged, std::vector<Told>& told);
};

std::string Service::Impl::NewId(std::string_view kind) {
  std::string id;
  do {
    id = std::string(kind) + Hasher().Add(id_base).Add(static_cast<int64_t>(next_id++)).Hex();
  } while (table.Known(id));
  return id;
}

Status Service::Impl::Room(int64_t jobs, int64_t bytes) {
  if (draining) {
    ++metrics.rejected["draining"];
    return Error{Code::kUnavailable, "this server is stopping and takes no more jobs"};
  }
  if (jobs > options.queue_max || bytes > options.queue_bytes_max) {
    return Error{Code::kInvalidInput,
                 std::to_string(jobs) + " jobs (" + FormatBytes(bytes) +
                     ") never fit into a queue of " + std::to_string(options.queue_max) + " (" +
                     FormatBytes(options.queue_bytes_max) + "); split the batch"};
  }
  if (table.queued() + jobs > options.queue_max ||
      table.bytes() + bytes > options.queue_bytes_max) {
    ++metrics.rejected["queue_full"];
    return Error{Code::kExhausted, "the queue has " + std::to_string(table.queued()) + " jobs (" +
                                       FormatBytes(table.bytes()) + "), no room for " +
                                       std::to_string(jobs) + " more; the limit is " +
                                       std::to_string(options.queue_max) + " (" +
                                       FormatBytes(options.queue_bytes_max) + "); try again later"};
  }
  return OkStatus();
}

Result<bool> Service::Impl::IsKnown(const JobSpec& spec) const {
  if (spec.id.empty()) return false;
  const Job* job = table.Find(spec.id);
  if (job == nullptr || job->MayRunAgain()) return false;
  if (job->hash == ContentHash(spec)) return true;
  return Error{Code::kAlreadyExists, "the id '" + spec.id +
                                         "' stands for another job; choose another id, or send "
                                         "what was sent with it"};
}

Status Service::Impl::Record(const Json& event) {
  if (journal == nullptr) return OkStatus();
  Status written = journal->Append(event);
  if (!written.ok()) {
    trace::Warning("writing the journal: {}", written.error().message);
    ++metrics.rejected["store"];
    return Error{Code::kUnavailable, "the job cannot be recorded: " + written.error().message};
  }
  return OkStatus();
}

Status Service::Impl::Queue(JobSpec spec) {
  if (spec.id.empty()) spec.id = NewId("j-");
  KUAFU_TRY_STATUS(Record({{"event", "job"}, {"spec", ToJson(spec)}}));
  table.Queue(std::move(spec), clock->NowNs());
  ++metrics.submitted;
  work_or_stop.notify_one();
  return OkStatus();
}

// When a quarter of the queue will have gone, at the speed so far.
int64_t Service::Impl::RetryAfterSeconds() const {
  int64_t ended = 0;
  for (const auto& [cls, count] : metrics.ended) ended += count;
  if (ended == 0) return 1;
  const double each = metrics.busy_seconds / static_cast<double>(ended) / options.threads;
  return std::clamp<int64_t>(static_cast<int64_t>(each * static_cast<double>(table.queued()) / 4),
                             1, 30);
}

void Service::Impl::RewriteIfLarge() {
  if (journal == nullptr || journal->bytes() < kJournalBytesBeforeRewrite) return;
  if (const Status done = journal->Rewrite(table.Events(clock->NowNs(), clock->WallNs()));
      !done.ok())
    trace::Warning("rewriting the journal: {}", done.error().message);
}

Status Service::Impl::Restore() {
  KUAFU_TRY(journal, Journal::Open(options.store_dir));
  KUAFU_TRY(const Journal::Events events, journal->Read());
  if (events.unreadable > 0)
    trace::Warning("{} lines of the journal cannot be read and are left out", events.unreadable);
  for (const Json& event : events.list) {
    if (const Status done = table.Replay(event, clock->NowNs(), clock->WallNs()); !done.ok())
      trace::Warning("replaying the journal: {}", done.error().message);
  }
  metrics.restored = table.queued();
  return journal->Rewrite(table.Events(clock->NowNs(), clock->WallNs()));
}

void Service::Impl::End(Job& job, const Result<verdict::Verdict>& judged, std::vector<Told>& told) {
  const int64_t now = clock->NowNs();
  metrics.latency.Add(Seconds(now - job.accepted_ns));
  std::string cls = "error";
  if (judged.ok()) {
    cls = verdict::ClassName(judged.value().cls);
    metrics.compile_seconds += judged.value().compile_ms * 1e-3;
    metrics.run_seconds += judged.value().run_ms * 1e-3;
  }
  ++metrics.ended[cls];
  Json result = ResultOf(judged);
  // Without its line a job is judged again after a restart, as it should when we are at fault.
  const bool infra = IsInfra(judged);
  if (!infra) {
    const Status recorded =
        Record(EndEvent(job.id, job.hash, clock->WallNs(), job.attempts, result));
    static_cast<void>(recorded.ok());
  }
  table.End(job, std::move(result), infra, now, told);
  RewriteIfLarge();
}

void Service::Impl::Run() {
  for (;;) {
    std::vector<Told> told;
    {
      std::unique_lock lock(mutex);
      work_or_stop.wait(lock, [&] { return stopping || (!draining && table.queued() > 0); });
      if (stopping) return;
      Job& job = table.Start();  // stays where it is until it has ended
      ++running;
      const int64_t begin = clock->NowNs();
      metrics.wait.Add(Seconds(begin - job.accepted_ns));
      const JobSpec& spec = job.spec;
      for (;;) {
        ++job.attempts;
        lock.unlock();
        const Result<verdict::Verdict> judged = judge(spec);
        lock.lock();
        if (IsInfra(judged) && job.attempts <= options.infra_retries && !stopping) {
          ++metrics.infra_retries;
          work_or_stop.wait_for(lock, std::chrono::milliseconds(options.retry_pause_ms),
                                [&] { return stopping; });
          continue;
        }
        End(job, judged, told);
        break;
      }
      metrics.busy_seconds += Seconds(clock->NowNs() - begin);
      --running;
    }
    Tell(told);
  }
}

Service::Service(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Service::~Service() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->work_or_stop.notify_all();
  }
  impl_->threads.reset();
}

Result<std::unique_ptr<Service>> Service::Start(ServiceOptions options, JudgeFn judge) {
  auto impl = std::make_unique<Impl>();
  impl->clock = options.clock != nullptr ? options.clock : &os::SystemClock();
  impl->options = std::move(options);
  impl->judge = std::move(judge);
  impl->table.SetLimits({.keep_ns = impl->options.keep_s * os::kNsPerSecond,
                         .keep_max = impl->options.keep_max,
                         .keep_bytes_max = impl->options.keep_bytes_max});
  impl->id_base = Hasher()
                      .Add(impl->clock->WallNs())
                      .Add(os::SystemClock().NowNs())
                      .Add(os::ProcessCpuNs())
                      .Hex();
  if (!impl->options.store_dir.empty()) KUAFU_TRY_STATUS(impl->Restore());
  const int threads = impl->options.threads;
  impl->threads = std::make_unique<os::ThreadPool>(os::ThreadPoolOptions{.threads = threads});
  for (int i = 0; i < threads; ++i) impl->threads->Submit([self = impl.get()] { self->Run(); });
  return std::unique_ptr<Service>(new Service(std::move(impl)));
}

Result<Submitted> Service::Submit(JobSpec spec) {
  std::lock_guard lock(impl_->mutex);
  Result<bool> known = impl_->IsKnown(spec);
  if (!known.ok()) {
    ++impl_->metrics.rejected["conflict"];
    return std::move(known).error();
  }
  if (known.value()) {
    ++impl_->metrics.known;
    return Submitted{.id = spec.id, .known = true};
  }
  KUAFU_TRY_STATUS(impl_->Room(1, SizeBytes(spec)));
  if (spec.id.empty()) spec.id = impl_->NewId("j-");
  Submitted submitted{.id = spec.id};
  KUAFU_TRY_STATUS(impl_->Queue(std::move(spec)));
  return submitted;
}

Result<SubmittedBatch> Service::SubmitBatch(std::string id, std::vector<JobSpec> specs) {
  std::lock_guard lock(impl_->mutex);
  Hasher hasher;
  for (const JobSpec& spec : specs) hasher.Add(spec.id).Add(ContentHash(spec));
  const std::string hash = hasher.Hex();
  if (const Batch* batch = impl_->table.FindBatch(id); batch != nullptr) {
    if (batch->hash == hash) return SubmittedBatch{.id = id, .known = true, .jobs = batch->jobs};
    ++impl_->metrics.rejected["conflict"];
    return Error{Code::kAlreadyExists, "the id '" + id + "' stands for another batch"};
  }
  int64_t fresh = 0, bytes = 0;
  std::map<std::string, std::string> within;  // id to content, of this batch
  for (JobSpec& spec : specs) {
    Result<bool> known = impl_->IsKnown(spec);
    if (!known.ok()) {
      ++impl_->metrics.rejected["conflict"];
      return std::move(known).error();
    }
    if (spec.id.empty()) spec.id = impl_->NewId("j-");
    const std::string content = ContentHash(spec);
    const auto [at, first] = within.emplace(spec.id, content);
    if (at->second != content)
      return Error{Code::kInvalidInput, "the id '" + spec.id + "' stands for two jobs in a batch"};
    if (known.value() || !first) continue;
    ++fresh;
    bytes += SizeBytes(spec);
  }
  KUAFU_TRY_STATUS(impl_->Room(fresh, bytes));
  Batch batch;
  batch.id = id.empty() ? impl_->NewId("b-") : std::move(id);
  batch.hash = hash;
  SubmittedBatch submitted{.id = batch.id};
  for (JobSpec& spec : specs) {
    submitted.jobs.push_back(spec.id);
    if (impl_->IsKnown(spec).value()) {
      ++impl_->metrics.known;
    } else {
      KUAFU_TRY_STATUS(impl_->Queue(std::move(spec)));
    }
  }
  batch.jobs = submitted.jobs;
  KUAFU_TRY_STATUS(impl_->Record(BatchEvent(batch)));
  impl_->table.AddBatch(std::move(batch));
  return submitted;
}

Result<JobView> Service::Find(const std::string& id) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->table.View(id);
}

Result<BatchView> Service::FindBatch(const std::string& id) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->table.ViewBatch(id);
}

void Service::Wait(const std::string& id, int64_t deadline_ns,
                   std::function<void(Result<JobView>)> then) {
  Result<JobView> now = Error{Code::kInternal, ""};
  {
    std::lock_guard lock(impl_->mutex);
    now = impl_->table.View(id);
    const bool ended = !now.ok() || now.value().state == JobState::kDone ||
                       now.value().state == JobState::kCancelled;
    if (!ended && impl_->draining && now.value().state == JobState::kQueued) {
      now = Error{Code::kUnavailable, "this server is stopping"};
    } else if (!ended && impl_->clock->NowNs() < deadline_ns) {
      impl_->table.Find(id)->waits.push_back({deadline_ns, std::move(then)});
      return;
    }
  }
  then(std::move(now));
}

Result<JobView> Service::Cancel(const std::string& id) {
  std::vector<Told> told;
  Result<JobView> view = Error{Code::kInternal, ""};
  {
    std::lock_guard lock(impl_->mutex);
    Job* job = impl_->table.Find(id);
    if (job != nullptr && job->state == JobState::kQueued) {
      KUAFU_TRY_STATUS(impl_->Record({{"event", "cancel"}, {"id", id}}));
      impl_->table.Cancel(*job, impl_->clock->NowNs(), told);
      ++impl_->metrics.ended["cancelled"];
    }
    view = impl_->table.View(id);
  }
  Tell(told);
  return view;
}

void Service::Tick() {
  std::vector<Told> told;
  {
    std::lock_guard lock(impl_->mutex);
    const int64_t now = impl_->clock->NowNs();
    impl_->table.EndWaits(now, told);
    impl_->metrics.expired += impl_->table.Expire(now);
  }
  Tell(told);
}

void Service::BeginDrain() {
  std::vector<Told> told;
  {
    std::lock_guard lock(impl_->mutex);
    impl_->draining = true;
    impl_->table.RefuseQueued(
        Error{Code::kUnavailable, impl_->journal != nullptr
                                      ? "this server is stopping; it goes on with this job when it "
                                        "is started again"
                                      : "this server is stopping; send the job again"},
        told);
  }
  Tell(told);
}

void Service::EndWaits(const Error& error) {
  std::vector<Told> told;
  {
    std::lock_guard lock(impl_->mutex);
    impl_->table.RefuseAll(error, told);
  }
  Tell(told);
}

bool Service::Drained() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->running == 0;
}

ServiceCounts Service::counts() const {
  std::lock_guard lock(impl_->mutex);
  return {.queued = impl_->table.queued(),
          .running = impl_->running,
          .kept = impl_->table.kept(),
          .retry_after_s = impl_->RetryAfterSeconds(),
          .draining = impl_->draining};
}

std::string Service::Metrics() const {
  std::lock_guard lock(impl_->mutex);
  return PrometheusText(impl_->metrics, {.queued = impl_->table.queued(),
                                         .queue_max = impl_->options.queue_max,
                                         .running = impl_->running,
                                         .threads = impl_->options.threads,
                                         .kept = impl_->table.kept(),
                                         .draining = impl_->draining});
}

}  // namespace kuafu::verify
