// SPDX-License-Identifier: Apache-2.0
// Threads that do one thing together, over and over: a parallel region that starts in less time
// than a thread wakes up. Between regions they spin for a bounded time and then sleep.
//
//   os::Team team(2);
//   team.Run([&](int member) { Half(member); });   // members 0 (the caller) and 1
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace kuafu::os {

class Team {
 public:
  // `members` >= 1, the caller of Run() among them.
  explicit Team(int members);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int members() const { return static_cast<int>(threads_.size()) + 1; }
  // body(member) once on each member; returns when all have ended. What was written before is seen
  // by all of them, and what they wrote by the caller afterwards. One caller at a time, and not
  // from within a body. A body must not throw.
  template <class Body>
  void Run(const Body& body) {
    RunErased([](const void* b, int member) { (*static_cast<const Body*>(b))(member); }, &body);
  }

 private:
  using Call = void (*)(const void* body, int member);
  void RunErased(Call call, const void* body);
  void Work(int member);

  Call call_ = nullptr;
  const void* body_ = nullptr;
  bool stopping_ = false;
  // On lines of their own: one is written by the caller, the other by the members.
  alignas(64) std::atomic<uint32_t> region_ = 0;  // changes when there is something to do
  alignas(64) std::atomic<uint32_t> busy_ = 0;    // members that have not ended yet
  std::vector<std::jthread> threads_;
};

}  // namespace kuafu::os
