// SPDX-License-Identifier: Apache-2.0
// A forked child that works on one hostile source, with limits, and what became of it.
//
// Fork without exec: the child inherits a process in which clang is loaded and the headers are
// parsed, which costs far more than compiling a kernel does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace kuafu::cli {

struct ChildLimits {
  int64_t timeout_ms = 20'000;  // wall clock; CPU time is limited to the same, rounded up
  int64_t address_space_bytes = 0;
  int64_t file_bytes = 0;
  int cancel_fd = -1;  // when it becomes readable, the child is killed; -1 = never
};

struct ChildEnd {
  bool timed_out = false;
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  std::string stderr_text;  // what it printed, the first kilobytes
  // "signal 11 (Segmentation fault)", "exit code 1", with the first line it printed.
  std::string ToString() const;
};

// Forks. In the child the value is empty and the limits hold; it must end by _exit. The parent
// waits, kills the child and what it has started at the deadline, and gets the end. Only for a
// process with a single thread.
Result<std::optional<ChildEnd>> ForkAndWait(const ChildLimits& limits);

// A forked child that lives as long as the parent wants it.
struct Helper {
  pid_t pid = -1;  // 0 = this is the helper
};
Result<Helper> ForkHelper();
// Kills and reaps it.
void EndHelper(pid_t pid);

}  // namespace kuafu::cli
