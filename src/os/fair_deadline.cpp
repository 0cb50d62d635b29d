// SPDX-License-Identifier: Apache-2.0
// From /proc/PID/schedstat (Linux, Documentation/scheduler/sched-stats.rst) and /proc/PID/stat.
#include "os/fair_deadline.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "os/file.h"

namespace kuafu::os {
namespace {

constexpr int64_t kStatBytesMax = 4096;
constexpr int64_t kNextLookNs = 10 * kNsPerMs;  // at least; a look reads two small files

// Field `index` of a line of numbers; 0 when there is none.
int64_t Field(std::string_view line, size_t index) {
  const auto fields = Split(line, ' ');
  return index < fields.size() ? ParseInt64(Trim(fields[index])).value_or(0) : 0;
}

}  // namespace

FairDeadline::FairDeadline(pid_t pid, int64_t limit_ms)
    : pid_(pid),
      limit_ns_(limit_ms * kNsPerMs),
      begin_ns_(SystemClock().NowNs()),
      next_ns_(begin_ns_ + limit_ns_),
      at_begin_(Read()) {}

FairDeadline::Usage FairDeadline::Read() const {
  Usage usage;
  const std::string folder = "/proc/" + std::to_string(pid_);
  if (const auto line = ReadFile(folder + "/schedstat", kStatBytesMax); line.ok())
    usage.ready_ns = Field(line.value(), 1);
  if (const auto line = ReadFile(folder + "/stat", kStatBytesMax); line.ok()) {
    // The name, in parentheses, may hold anything; user and system time are 11 fields behind.
    const size_t name_end = line.value().rfind(") ");
    if (name_end == std::string::npos) return usage;
    const std::string_view rest = std::string_view(line.value()).substr(name_end + 2);
    static const int64_t tick_ns = kNsPerSecond / sysconf(_SC_CLK_TCK);
    usage.cpu_ns = (Field(rest, 11) + Field(rest, 12)) * tick_ns;
  }
  return usage;
}

Status FairDeadline::Check() {
  const int64_t now = SystemClock().NowNs();
  if (now < next_ns_) return OkStatus();
  const Usage usage = Read();
  const int64_t wall = now - begin_ns_;
  const int64_t spent =
      std::max(wall - (usage.ready_ns - at_begin_.ready_ns), usage.cpu_ns - at_begin_.cpu_ns);
  if (spent >= limit_ns_) return Error{Code::kDeadline, "the process has used up its time"};
  if (wall >= kStarvedFactor * limit_ns_) {
    return Error{Code::kUnavailable,
                 "the machine is too busy: a process got " +
                     std::to_string((usage.cpu_ns - at_begin_.cpu_ns) / kNsPerMs) + " ms in " +
                     std::to_string(wall / kNsPerMs) + " ms"};
  }
  next_ns_ = now + std::max(limit_ns_ - spent, kNextLookNs);
  return OkStatus();
}

Deadline FairDeadline::Next() const {
  return Deadline::After(SystemClock(), std::max<int64_t>(0, next_ns_ - SystemClock().NowNs()));
}

void FairDeadline::Add(int64_t ns) {
  begin_ns_ += ns;
  next_ns_ += ns;
}

}  // namespace kuafu::os
