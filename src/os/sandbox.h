// SPDX-License-Identifier: Apache-2.0
// What a process that runs foreign code may do. Two steps: limits before exec (process.h takes
// them), and EnterSandbox() by the process itself, after it has opened and loaded all it needs and
// before it calls the first foreign instruction.
//
//   KUAFU_TRY(os::SandboxReport report, os::EnterSandbox({}));
//
// The system call filter is an allow-list: memory, threads, time, and input and output on
// descriptors that are open already. Starting processes, sockets, opening files, looking into other
// processes, signalling them, changing names in the file system: refused. What the machine cannot
// give is in the report; nothing is left out silently.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kuafu::os {

// Absent = inherited. Core dumps are always off.
struct Limits {
  std::optional<int64_t> cpu_seconds;
  std::optional<int64_t> file_bytes;  // largest file, memfd included
  std::optional<int64_t> open_files;
  std::optional<int64_t> address_space_bytes;  // breaks sparse reservations; prefer accounting
  std::optional<int64_t> stack_bytes;
  std::optional<int64_t> processes;  // per user and ignored for root: drop the user as well
};

// For this process and what it starts. Async-signal-safe except for the text of an error.
Status ApplyLimits(const Limits& limits);

enum class OnViolation {
  kErrno,  // the call fails with EPERM; code that probes carries on
  kKill,   // the process dies of SIGSYS; the parent sees exactly that
};

enum class FileAccess {
  kNone,      // nothing can be opened any more
  kReadOnly,  // opening for reading, listing and stat are allowed
};

struct SandboxOptions {
  OnViolation on_violation = OnViolation::kErrno;
  FileAccess files = FileAccess::kNone;
  // Allows fork, exec and wait, for candidates that are Python programs; bound them by
  // Limits::processes. Threads are always allowed.
  bool allow_processes = false;
  // As root, become nobody; otherwise the user stays as it is and the report says so.
  bool drop_user = true;
};

struct SandboxReport {
  bool no_new_privileges = false;
  bool filter = false;
  bool user_dropped = false;
  // A second wall around the file system and other processes' memory; newer kernels only.
  bool landlock = false;
  // One sentence for each protection that is missing here, with the reason.
  std::vector<std::string> missing;
};

// Cannot be undone. Applies to all threads of the process. Fails only when the filter cannot be
// installed: without it foreign code must not run.
Result<SandboxReport> EnterSandbox(const SandboxOptions& options);

// For the parent of a sandbox: other processes of the same user can no longer read or trace this
// one. It gives no core dump and no attach to a debugger either, so only the programs that need it
// call it.
void HideFromSameUser();

}  // namespace kuafu::os
