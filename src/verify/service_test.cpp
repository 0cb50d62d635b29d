// SPDX-License-Identifier: Apache-2.0
// Goal: every accepted job ends exactly once, whatever the judge, the queue, the clients and the
// end of the process do. Method: a judge that the test controls, a clock that it moves, a journal
// that is opened again.
#include "verify/service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include "base/text.h"
#include "os/file.h"
#include "os/thread_pool.h"

namespace kuafu::verify {
namespace {

JobSpec Spec(std::string id, std::string candidate = "c") {
  JobSpec spec;
  spec.id = std::move(id);
  spec.reference = "r";
  spec.candidate = std::move(candidate);
  return spec;
}

verdict::Verdict VerdictOf(verdict::Class cls) {
  verdict::Verdict verdict;
  verdict.cls = cls;
  verdict.summary = "by the test";
  verdict.reward = {.scored = true, .value = 1};
  return verdict;
}

// Answers by the text of the candidate; holds every job while it is shut.
class Judge {
 public:
  Result<verdict::Verdict> operator()(const JobSpec& spec) {
    std::unique_lock lock(mutex_);
    const int tries = ++tries_[spec.id];
    ++running_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    --running_;
    if (spec.candidate == "infra once" && tries == 1) return VerdictOf(verdict::Class::kInfra);
    if (spec.candidate == "infra") return VerdictOf(verdict::Class::kInfra);
    if (spec.candidate == "killed once" && tries == 1)
      return Error{Code::kUnavailable, "a worker was killed"};
    if (spec.candidate == "bad reference") return Error{Code::kInvalidInput, "no Model"};
    return VerdictOf(verdict::Class::kPass);
  }
  void Shut() { Set(false); }
  void Open() { Set(true); }
  int Tries(const std::string& id) {
    std::lock_guard lock(mutex_);
    return tries_[id];
  }
  void WaitUntilRunning(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ >= count; });
  }

 private:
  void Set(bool open) {
    std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool open_ = true;
  int running_ = 0;
  std::map<std::string, int> tries_;
};

class ServiceTest : public testing::Test {
 protected:
  void Start(ServiceOptions options = {}) {
    options.clock = &clock_;
    options.retry_pause_ms = 1;
    auto started =
        Service::Start(std::move(options), [this](const JobSpec& spec) { return judge_(spec); });
    ASSERT_TRUE(started.ok()) << started.error().ToString();
    service_ = std::move(started).value();
  }
  Result<JobView> Await(const std::string& id) {
    std::mutex mutex;
    std::condition_variable told;
    std::optional<Result<JobView>> view;
    service_->Wait(id, INT64_MAX, [&](Result<JobView> now) {
      std::lock_guard lock(mutex);
      view = std::move(now);
      told.notify_all();
    });
    std::unique_lock lock(mutex);
    told.wait(lock, [&] { return view.has_value(); });
    return *view;
  }
  std::string ClassOf(const std::string& id) {
    Result<JobView> view = Await(id);
    if (!view.ok()) return view.error().ToString();
    if (view.value().result.contains("error")) return "error";
    return view.value().result["verdict"]["class"].get<std::string>();
  }
  void TearDown() override {
    judge_.Open();
    service_.reset();
  }

  os::FakeClock clock_;
  Judge judge_;
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceTest, AJobEndsWithItsVerdict) {
  Start();
  const Submitted job = service_->Submit(Spec("")).value();
  EXPECT_FALSE(job.known);
  EXPECT_EQ(ClassOf(job.id), "pass");
  EXPECT_EQ(service_->Find(job.id).value().state, JobState::kDone);
  EXPECT_EQ(service_->Submit(Spec("bad", "bad reference")).value().id, "bad");
  EXPECT_EQ(ClassOf("bad"), "error");
  EXPECT_EQ(judge_.Tries("bad"), 1) << "an unusable reference stays so";
  EXPECT_EQ(service_->Find("never").error().code, Code::kNotFound);
}

TEST_F(ServiceTest, AFaultOfTheVerifierIsTriedAgainAndNeverScored) {
  Start({.infra_retries = 2});
  for (const char* what : {"infra once", "killed once", "infra"})
    ASSERT_TRUE(service_->Submit(Spec(ReplaceAll(what, " ", "-"), what)).ok());
  EXPECT_EQ(ClassOf("infra-once"), "pass");
  EXPECT_EQ(judge_.Tries("infra-once"), 2);
  EXPECT_EQ(ClassOf("killed-once"), "pass");
  EXPECT_EQ(ClassOf("infra"), "infra");
  EXPECT_EQ(judge_.Tries("infra"), 3);
  const Json reward = Await("infra").value().result["verdict"]["reward"];
  EXPECT_TRUE(reward["value"].is_null()) << reward;
  EXPECT_TRUE(Contains(service_->Metrics(), "kuafu_infra_retries_total 4\n"));
  // It was no answer, so the same id may ask again.
  EXPECT_FALSE(service_->Submit(Spec("infra", "infra")).value().known);
}

TEST_F(ServiceTest, TheSameIdIsTheSameJob) {
  Start();
  judge_.Shut();
  EXPECT_FALSE(service_->Submit(Spec("a")).value().known);
  EXPECT_TRUE(service_->Submit(Spec("a")).value().known);
  EXPECT_EQ(service_->Submit(Spec("a", "other")).error().code, Code::kAlreadyExists);
  judge_.Open();
  EXPECT_EQ(ClassOf("a"), "pass");
  EXPECT_TRUE(service_->Submit(Spec("a")).value().known);
  EXPECT_EQ(service_->Submit(Spec("a", "other")).error().code, Code::kAlreadyExists);
  EXPECT_EQ(judge_.Tries("a"), 1);
}

TEST_F(ServiceTest, AFullQueueRefusesAndLosesNothing) {
  Start({.threads = 1, .queue_max = 3});
  judge_.Shut();
  ASSERT_TRUE(service_->Submit(Spec("running")).ok());
  judge_.WaitUntilRunning(1);
  for (const char* id : {"1", "2", "3"}) ASSERT_TRUE(service_->Submit(Spec(id)).ok());
  EXPECT_EQ(service_->Submit(Spec("4")).error().code, Code::kExhausted);
  EXPECT_EQ(service_->SubmitBatch("", {Spec("5")}).error().code, Code::kExhausted);
  EXPECT_TRUE(service_->Submit(Spec("2")).value().known) << "what is there needs no room";
  EXPECT_EQ(service_->Find("4").error().code, Code::kNotFound);
  EXPECT_EQ(service_->Find("3").value().place, 3);
  judge_.Open();
  for (const char* id : {"running", "1", "2", "3"}) EXPECT_EQ(ClassOf(id), "pass");
  EXPECT_EQ(service_->Submit(Spec("4")).value().id, "4");
}

TEST_F(ServiceTest, SourcesThatWaitAreBoundedInBytes) {
  Start({.threads = 1, .queue_bytes_max = 5000});
  judge_.Shut();
  ASSERT_TRUE(service_->Submit(Spec("a", std::string(3000, 'x'))).ok());
  EXPECT_EQ(service_->Submit(Spec("b", std::string(3000, 'x'))).error().code, Code::kExhausted);
  judge_.Open();
  EXPECT_EQ(ClassOf("a"), "pass");
  EXPECT_TRUE(service_->Submit(Spec("b", std::string(3000, 'x'))).ok());
}

TEST_F(ServiceTest, OnlyAQueuedJobCanBeCancelled) {
  Start({.threads = 1});
  judge_.Shut();
  ASSERT_TRUE(service_->Submit(Spec("first")).ok());
  judge_.WaitUntilRunning(1);
  ASSERT_TRUE(service_->Submit(Spec("second")).ok());
  EXPECT_EQ(service_->Cancel("first").value().state, JobState::kRunning);
  EXPECT_EQ(service_->Cancel("second").value().state, JobState::kCancelled);
  EXPECT_EQ(service_->Cancel("third").error().code, Code::kNotFound);
  EXPECT_EQ(Await("second").value().state, JobState::kCancelled);
  judge_.Open();
  EXPECT_EQ(ClassOf("first"), "pass");
  EXPECT_EQ(service_->Cancel("first").value().state, JobState::kDone);
  EXPECT_EQ(judge_.Tries("second"), 0);
  EXPECT_FALSE(service_->Submit(Spec("second")).value().known);
  EXPECT_EQ(ClassOf("second"), "pass");
}

TEST_F(ServiceTest, AWaitEndsAtItsDeadlineAndOnlyOnce) {
  Start();
  judge_.Shut();
  ASSERT_TRUE(service_->Submit(Spec("a")).ok());
  judge_.WaitUntilRunning(1);
  std::atomic<int> told{0};
  service_->Wait("a", clock_.NowNs() + 1000, [&](Result<JobView> view) {
    ++told;
    EXPECT_EQ(view.value().state, JobState::kRunning);
  });
  service_->Tick();
  EXPECT_EQ(told, 0);
  clock_.AdvanceNs(2000);
  service_->Tick();
  EXPECT_EQ(told, 1);
  judge_.Open();
  EXPECT_EQ(ClassOf("a"), "pass");
  EXPECT_EQ(told, 1);
}

TEST_F(ServiceTest, AnswersExpireAndSaySo) {
  Start({.keep_s = 60, .keep_max = 2});
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(service_->Submit(Spec(id)).ok());
    EXPECT_EQ(ClassOf(id), "pass");
  }
  ASSERT_TRUE(service_->SubmitBatch("all", {Spec("b"), Spec("c")}).value().jobs.size() == 2);
  service_->Tick();
  EXPECT_EQ(service_->Find("a").error().code, Code::kCancelled) << "one too many";
  EXPECT_TRUE(service_->Find("b").ok());
  clock_.AdvanceNs(61 * os::kNsPerSecond);
  service_->Tick();
  EXPECT_EQ(service_->Find("c").error().code, Code::kCancelled);
  EXPECT_EQ(service_->FindBatch("all").error().code, Code::kCancelled);
  EXPECT_EQ(service_->counts().kept, 0);
}

TEST_F(ServiceTest, ABatchIsAcceptedWholeOrNotAtAll) {
  Start({.threads = 1, .queue_max = 3});
  judge_.Shut();
  ASSERT_TRUE(service_->Submit(Spec("running")).ok());
  judge_.WaitUntilRunning(1);
  EXPECT_EQ(service_->SubmitBatch("b", {Spec("1"), Spec("2"), Spec("3"), Spec("4")}).error().code,
            Code::kInvalidInput)
      << "it would be tried again for ever";
  ASSERT_TRUE(service_->Submit(Spec("0")).ok());
  EXPECT_EQ(service_->SubmitBatch("b", {Spec("1"), Spec("2"), Spec("3")}).error().code,
            Code::kExhausted);
  EXPECT_EQ(service_->Cancel("0").value().state, JobState::kCancelled);
  EXPECT_EQ(service_->counts().queued, 0);
  EXPECT_EQ(service_->SubmitBatch("b", {Spec("1"), Spec("1", "other")}).error().code,
            Code::kInvalidInput);
  EXPECT_EQ(service_->SubmitBatch("b", {Spec("running", "other")}).error().code,
            Code::kAlreadyExists);
  const SubmittedBatch batch =
      service_->SubmitBatch("b", {Spec("1"), Spec(""), Spec("1"), Spec("running")}).value();
  ASSERT_EQ(batch.jobs.size(), 4u);
  EXPECT_EQ(batch.jobs[0], batch.jobs[2]);
  EXPECT_EQ(service_->counts().queued, 2);
  EXPECT_EQ(service_->SubmitBatch("b", {Spec("9")}).error().code, Code::kAlreadyExists);
  judge_.Open();
  for (const std::string& id : batch.jobs) EXPECT_EQ(ClassOf(id), "pass");
  EXPECT_EQ(service_->FindBatch("b").value().jobs.size(), 4u);
  EXPECT_EQ(judge_.Tries("1"), 1);
}

TEST_F(ServiceTest, DrainingFinishesWhatRunsAndAnswersWhoWaits) {
  Start({.threads = 1});
  judge_.Shut();
  ASSERT_TRUE(service_->Submit(Spec("first")).ok());
  judge_.WaitUntilRunning(1);
  ASSERT_TRUE(service_->Submit(Spec("second")).ok());
  std::atomic<bool> refused = false;
  service_->Wait("second", INT64_MAX, [&](Result<JobView> view) {
    refused = !view.ok() && view.error().code == Code::kUnavailable;
  });
  service_->BeginDrain();
  EXPECT_TRUE(refused);
  EXPECT_EQ(service_->Submit(Spec("third")).error().code, Code::kUnavailable);
  EXPECT_FALSE(service_->Drained());
  judge_.Open();
  EXPECT_EQ(ClassOf("first"), "pass");
  while (!service_->Drained()) os::SystemClock().SleepNs(os::kNsPerMs);
  EXPECT_EQ(judge_.Tries("second"), 0);
}

TEST_F(ServiceTest, ARestartAnswersForTheOldJobsAndGoesOnWithTheQueue) {
  os::TempDir dir = os::TempDir::Create("test").value();
  Start({.threads = 1, .store_dir = dir.path()});
  ASSERT_TRUE(service_->Submit(Spec("done")).ok());
  EXPECT_EQ(ClassOf("done"), "pass");
  judge_.Shut();
  ASSERT_TRUE(service_->Submit(Spec("running")).ok());
  judge_.WaitUntilRunning(1);
  const SubmittedBatch batch =
      service_->SubmitBatch("batch", {Spec("done"), Spec("queued"), Spec("dropped")}).value();
  EXPECT_EQ(service_->Cancel("dropped").value().state, JobState::kCancelled);
  // What a kill -9 at this moment leaves: the file, with a line that was being written.
  const std::string journal = dir.File("journal.jsonl");
  const std::string left = os::ReadFile(journal, 1 << 20).value();
  EXPECT_EQ(Service::Start({.store_dir = dir.path()},
                           [](const JobSpec&) { return VerdictOf(verdict::Class::kPass); })
                .error()
                .code,
            Code::kUnavailable)
      << "two servers over one journal";
  service_->BeginDrain();  // or a worker takes "queued" before the service is gone
  judge_.Open();
  service_.reset();
  EXPECT_EQ(judge_.Tries("queued"), 0);
  ASSERT_TRUE(os::WriteFileAtomic(journal, left + "{\"event\": \"job\", \"spec\": {\"i").ok());
  Start({.threads = 1, .store_dir = dir.path()});
  EXPECT_EQ(ClassOf("done"), "pass");
  EXPECT_EQ(judge_.Tries("done"), 1);
  EXPECT_EQ(ClassOf("running"), "pass");
  EXPECT_EQ(ClassOf("queued"), "pass");
  EXPECT_TRUE(service_->Submit(Spec("done")).value().known);
  EXPECT_EQ(service_->Submit(Spec("done", "other")).error().code, Code::kAlreadyExists);
  EXPECT_EQ(service_->Find("dropped").value().state, JobState::kCancelled);
  EXPECT_TRUE(service_->SubmitBatch("batch", {Spec("done"), Spec("queued"), Spec("dropped")})
                  .value()
                  .known);
  // And once more: what was replayed is written down as well.
  service_.reset();
  Start({.threads = 1, .store_dir = dir.path()});
  EXPECT_EQ(ClassOf("queued"), "pass");
  EXPECT_EQ(judge_.Tries("queued"), 1);
}

TEST_F(ServiceTest, AJournalOfNonsenseIsNoReasonNotToStart) {
  os::TempDir dir = os::TempDir::Create("test").value();
  ASSERT_TRUE(os::WriteFileAtomic(dir.File("journal.jsonl"),
                                  "nonsense\n{\"event\": 1}\n{\"event\": \"end\", \"id\": \"x\"}\n"
                                  "{\"event\": \"job\", \"spec\": {\"id\": \"../x\"}}\n"
                                  "{\"event\": \"unheard-of\"}\n\xff\xfe\n")
                  .ok());
  Start({.store_dir = dir.path()});
  ASSERT_TRUE(service_->Submit(Spec("a")).ok());
  EXPECT_EQ(ClassOf("a"), "pass");
}

TEST_F(ServiceTest, AJobThatCannotBeRecordedIsNotAccepted) {
  os::TempDir dir = os::TempDir::Create("test").value();
  Start({.store_dir = dir.path()});
  ASSERT_TRUE(os::RemoveTree(dir.path()).ok());
  EXPECT_EQ(service_->Submit(Spec("a")).error().code, Code::kUnavailable);
  EXPECT_EQ(service_->Find("a").error().code, Code::kNotFound);
}

TEST_F(ServiceTest, ManyClientsAtOnceLoseAndDoubleNothing) {
  Start({.threads = 4, .queue_max = 20});
  os::ThreadPool clients({.threads = 8});
  std::atomic<int> answered{0}, refused{0};
  for (int c = 0; c < 8; ++c) {
    clients.Submit([this, &answered, &refused, c] {
      for (int i = 0; i < 100; ++i) {
        const std::string id = std::to_string(c) + "-" + std::to_string(i);
        while (!service_->Submit(Spec(id, i % 9 == 0 ? "infra once" : "c")).ok()) ++refused;
        if (i % 3 == 0) service_->Tick();
        if (ClassOf(id) == "pass") ++answered;
      }
    });
  }
  clients.WaitIdle();
  EXPECT_EQ(answered, 800);
  EXPECT_EQ(judge_.Tries("3-1"), 1);
  EXPECT_EQ(judge_.Tries("3-9"), 2);
}

TEST_F(ServiceTest, MetricsAreWellFormed) {
  Start();
  ASSERT_TRUE(service_->Submit(Spec("a")).ok());
  EXPECT_EQ(ClassOf("a"), "pass");
  const std::string text = service_->Metrics();
  for (const std::string_view line : SplitLines(text)) {
    if (StartsWith(line, "# ")) continue;
    EXPECT_TRUE(StartsWith(line, "kuafu_")) << line;
    EXPECT_TRUE(ParseDouble(line.substr(line.rfind(' ') + 1)).has_value()) << line;
  }
  EXPECT_TRUE(Contains(text, "kuafu_jobs_total{class=\"pass\"} 1\n")) << text;
  EXPECT_TRUE(Contains(text, "kuafu_job_latency_seconds_bucket{le=\"+Inf\"} 1\n")) << text;
}

}  // namespace
}  // namespace kuafu::verify
