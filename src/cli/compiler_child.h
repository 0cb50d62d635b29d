// SPDX-License-Identifier: Apache-2.0
// A forked child that works on one hostile source, with limits, and what became of it.
//
// Fork without exec: the child inherits a process in which clang is loaded and relocated, which
// costs more than compiling a kernel does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace kuafu::cli {

struct ChildLimits {
  int64_t timeout_ms = 20'000;  // wall clock; CPU time is limited to the same, rounded up
  int64_t address_space_bytes = 0;
  int64_t file_bytes = 0;
};

struct ChildEnd {
  bool timed_out = false;
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  std::string stderr_text;  // what it printed, the first kilobytes
  // "signal 11 (Segmentation fault)", "exit code 1", with the first line it printed.
  std::string ToString() const;
};

// By convention, the exit code of a child that found this installation broken.
inline constexpr int kChildBroken = 120;

// Forks; the child calls `body`, whose value becomes its exit code. Kills the child and what it has
// started at the deadline. Only for a process with a single thread.
Result<ChildEnd> RunChild(const ChildLimits& limits, const std::function<int()>& body);

}  // namespace kuafu::cli
