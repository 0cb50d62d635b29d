// SPDX-License-Identifier: Apache-2.0
// A fixed number of threads and a bounded queue. Threads are created here and nowhere else.
//
//   os::ThreadPool pool({.threads = 2, .queue_max = 64});
//   pool.Submit([&] { work(); });
//   pool.WaitIdle();
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"

namespace kuafu::os {

struct ThreadPoolOptions {
  int threads = 1;
  int64_t queue_max = 1024;
};

class ThreadPool {
 public:
  explicit ThreadPool(ThreadPoolOptions options);
  // Runs what has been queued, then ends.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Waits while the queue is full. Must not be called from a task of this pool: with a full queue
  // it would wait for itself.
  void Submit(std::function<void()> task);
  // exhausted when the queue is full.
  Status TrySubmit(std::function<void()> task);
  // Until no task is queued or running.
  void WaitIdle();

  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  void Run();

  const ThreadPoolOptions options_;
  std::mutex mutex_;  // guards everything below except threads_
  std::condition_variable work_or_stop_;
  std::condition_variable space_or_idle_;
  std::deque<std::function<void()>> queue_;
  int64_t running_ = 0;
  bool stopping_ = false;
  std::vector<std::jthread> threads_;
};

// CPUs this process may use; at least 1.
int CpuCount();

}  // namespace kuafu::os
