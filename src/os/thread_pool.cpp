// SPDX-License-Identifier: Apache-2.0
// One mutex, two condition variables; tasks run without the lock.
#include "os/thread_pool.h"

#include <sched.h>

#include <utility>

#include "base/check.h"

namespace kuafu::os {

ThreadPool::ThreadPool(ThreadPoolOptions options) : options_(options) {
  KUAFU_CHECK(options.threads > 0 && options.threads <= 1024,
              "thread pool needs 1 to 1024 threads");
  KUAFU_CHECK(options.queue_max > 0, "thread pool needs a queue");
  threads_.reserve(static_cast<size_t>(options.threads));
  for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { Run(); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_or_stop_.notify_all();
}

void ThreadPool::Submit(std::function<void()> task) {
  {
    std::unique_lock lock(mutex_);
    space_or_idle_.wait(lock,
                        [&] { return static_cast<int64_t>(queue_.size()) < options_.queue_max; });
    queue_.push_back(std::move(task));
  }
  work_or_stop_.notify_one();
}

Status ThreadPool::TrySubmit(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    if (static_cast<int64_t>(queue_.size()) >= options_.queue_max) {
      return Error{Code::kExhausted,
                   "thread pool: queue of " + std::to_string(options_.queue_max) + " is full"};
    }
    queue_.push_back(std::move(task));
  }
  work_or_stop_.notify_one();
  return OkStatus();
}

void ThreadPool::WaitIdle() {
  std::unique_lock lock(mutex_);
  space_or_idle_.wait(lock, [&] { return queue_.empty() && running_ == 0; });
}

void ThreadPool::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_or_stop_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> task = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    space_or_idle_.notify_all();
    task();
    task = nullptr;  // captured objects end before WaitIdle returns
    lock.lock();
    --running_;
    if (queue_.empty() && running_ == 0) space_or_idle_.notify_all();
  }
}

int CpuCount() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  int count = CPU_COUNT(&set);
  return count > 0 ? count : 1;
}

}  // namespace kuafu::os
