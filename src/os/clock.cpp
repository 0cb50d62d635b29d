// SPDX-License-Identifier: Apache-2.0
// CLOCK_MONOTONIC and CLOCK_REALTIME behind the Clock interface.
#include "os/clock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

namespace kuafu::os {
namespace {

int64_t Read(clockid_t id) {
  timespec time{};
  clock_gettime(id, &time);
  return static_cast<int64_t>(time.tv_sec) * kNsPerSecond + time.tv_nsec;
}

class RealClock : public Clock {
 public:
  int64_t NowNs() const override { return Read(CLOCK_MONOTONIC); }
  int64_t WallNs() const override { return Read(CLOCK_REALTIME); }
  void SleepNs(int64_t ns) override {
    timespec left{ns / kNsPerSecond, ns % kNsPerSecond};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
  }
};

}  // namespace

Clock& SystemClock() {
  // Never destroyed: objects that end with the process still wait for their children.
  static RealClock* clock = new RealClock;
  return *clock;
}

Deadline Deadline::After(const Clock& clock, int64_t ns) {
  int64_t now = clock.NowNs();
  return Deadline(&clock, ns > INT64_MAX - 1 - now ? INT64_MAX - 1 : now + ns);
}

int64_t Deadline::RemainingNs() const {
  if (clock_ == nullptr) return INT64_MAX;
  return std::max<int64_t>(0, at_ns_ - clock_->NowNs());
}

int Deadline::PollTimeoutMs() const {
  if (clock_ == nullptr) return -1;
  constexpr int64_t kLongestMs = 1'000'000'000;
  return static_cast<int>(std::min(kLongestMs, RemainingNs() / kNsPerMs + (RemainingNs() > 0)));
}

std::string FormatWallTime(int64_t wall_ns) {
  time_t seconds = static_cast<time_t>(wall_ns / kNsPerSecond);
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

int64_t ProcessCpuNs() { return Read(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace kuafu::os
