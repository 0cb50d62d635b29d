// SPDX-License-Identifier: Apache-2.0
// Goal: every task runs once, the queue is bounded, the end waits for what is queued.
#include "os/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace kuafu::os {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  std::atomic<int> sum = 0;
  ThreadPool pool({.threads = 3, .queue_max = 4});
  for (int i = 1; i <= 1000; ++i) pool.Submit([&sum, i] { sum += i; });
  pool.WaitIdle();
  EXPECT_EQ(sum, 500500);
}

// Each task waits for the others: also on a busy machine no thread can run them all, and what the
// threads share is used by all of them at once, as the thread sanitizer needs it.
TEST(ThreadPool, TasksRunAtTheSameTime) {
  constexpr int kThreads = 3;
  ThreadPool pool({.threads = kThreads, .queue_max = kThreads});
  int finished = 0;
  for (int round = 0; round < 20; ++round) {
    std::latch all(kThreads);
    std::atomic<int> count = 0;
    for (int i = 0; i < kThreads; ++i) {
      pool.Submit([&] {
        all.arrive_and_wait();
        ++count;
      });
    }
    pool.WaitIdle();
    finished += count;
  }
  EXPECT_EQ(finished, 20 * kThreads);
}

TEST(ThreadPool, FullQueueIsRefused) {
  std::latch started(1), release(1);
  ThreadPool pool({.threads = 1, .queue_max = 2});
  pool.Submit([&] {
    started.count_down();
    release.wait();
  });
  started.wait();
  EXPECT_TRUE(pool.TrySubmit([] {}).ok());
  EXPECT_TRUE(pool.TrySubmit([] {}).ok());
  Status full = pool.TrySubmit([] {});
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, Code::kExhausted);
  release.count_down();
  pool.WaitIdle();
  EXPECT_TRUE(pool.TrySubmit([] {}).ok());
}

TEST(ThreadPool, EndRunsWhatIsQueued) {
  std::atomic<int> count = 0;
  {
    ThreadPool pool({.threads = 1, .queue_max = 100});
    for (int i = 0; i < 100; ++i) pool.Submit([&] { ++count; });
  }
  EXPECT_EQ(count, 100);
  EXPECT_GE(CpuCount(), 1);
}

}  // namespace
}  // namespace kuafu::os
