// SPDX-License-Identifier: Apache-2.0
// Time as an interface, so that everything above can be tested with a clock that the test moves.
//
//   Deadline deadline = Deadline::After(SystemClock(), 500 * kNsPerMs);
//   if (deadline.Expired()) ...
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace kuafu::os {

inline constexpr int64_t kNsPerUs = 1'000;
inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSecond = 1'000'000'000;

class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic; for durations and deadlines.
  virtual int64_t NowNs() const = 0;
  // Since 1970 UTC; for records only, may jump.
  virtual int64_t WallNs() const = 0;
  virtual void SleepNs(int64_t ns) = 0;
};

// The machine's clock. Lives as long as the process; safe to use from every thread.
Clock& SystemClock();

// Stands still until told otherwise; SleepNs moves it. Safe to use from every thread.
class FakeClock : public Clock {
 public:
  int64_t NowNs() const override { return now_ns_.load(); }
  int64_t WallNs() const override { return wall_base_ns_ + now_ns_.load(); }
  void SleepNs(int64_t ns) override { now_ns_.fetch_add(ns); }
  void AdvanceNs(int64_t ns) { now_ns_.fetch_add(ns); }

 private:
  std::atomic<int64_t> now_ns_ = 1;
  int64_t wall_base_ns_ = 1'700'000'000 * kNsPerSecond;
};

// A point in time after which work must stop. Copyable; borrows the clock, which must outlive it.
class Deadline {
 public:
  // Never expires.
  static Deadline Infinite() { return Deadline(nullptr, INT64_MAX); }
  static Deadline After(const Clock& clock, int64_t ns);
  static Deadline AfterMs(int64_t ms) { return After(SystemClock(), ms * kNsPerMs); }

  bool Expired() const { return RemainingNs() <= 0; }
  // Never negative; INT64_MAX when infinite.
  int64_t RemainingNs() const;
  // For poll(): -1 when infinite, rounded up, so that a wait never ends just before the deadline.
  int PollTimeoutMs() const;

 private:
  Deadline(const Clock* clock, int64_t at_ns) : clock_(clock), at_ns_(at_ns) {}
  const Clock* clock_;
  int64_t at_ns_;
};

// "2026-01-31T12:00:00Z".
std::string FormatWallTime(int64_t wall_ns);
// CPU time of this process, all threads.
int64_t ProcessCpuNs();

}  // namespace kuafu::os
