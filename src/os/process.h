// SPDX-License-Identifier: Apache-2.0
// Child processes: a pidfd to wait on, a process group to kill, output that cannot fill our memory.
//
//   KUAFU_TRY(os::Process child, os::Spawn({"/usr/bin/python3", "-c", "print(1)"},
//                                          {.stdout_stream = os::Stream::kCapture}));
//   KUAFU_TRY(os::ExitStatus status, child.Wait(os::Deadline::AfterMs(1000)));   // kills at the
//   deadline child.captured_stdout();
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/sandbox.h"

namespace kuafu::os {

enum class Stream {
  kNull,     // /dev/null
  kInherit,  // ours
  kCapture,  // output: kept up to capture_bytes_max, the rest is read and dropped
};

struct InheritedFd {
  int fd;      // here; borrowed until Spawn returns
  int target;  // its number in the child, 3 to 63
};

struct SpawnOptions {
  // The whole environment ("NAME=value"); absent = ours.
  std::optional<std::vector<std::string>> environment;
  std::string working_directory;           // empty = ours
  std::vector<InheritedFd> inherited_fds;  // everything else is closed at exec
  std::string stdin_bytes;                 // given through a memfd; empty = /dev/null
  Stream stdout_stream = Stream::kNull;
  Stream stderr_stream = Stream::kInherit;
  int64_t capture_bytes_max = kMiB;  // of each stream
  Limits limits;
  // SIGKILL when the thread that spawned it ends. Switch it off when that thread is short-lived.
  bool die_with_parent = true;
};

struct ExitStatus {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;      // 0 when it exited
  int64_t user_ns = 0;
  int64_t system_ns = 0;
  int64_t peak_memory_bytes = 0;

  bool ok() const { return exit_code == 0; }
  // "exit code 3", "signal 11 (Segmentation fault)".
  std::string ToString() const;
};

enum class WaitEvent { kReadable, kExited };

class Process {
 public:
  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  // Kills the group and reaps the child when it has not been waited for.
  ~Process();

  // Until the child ends; takes its output meanwhile. At the deadline the whole process group is
  // killed and the result is the error deadline. After the end the rest of the group is killed too.
  // A second call returns the same status.
  Result<ExitStatus> Wait(const Deadline& deadline);
  // Until `fd` can be read or the child has ended, whichever is first; takes the child's output
  // meanwhile, so that a child that prints while we wait for its answer cannot block. Does not
  // kill.
  Result<WaitEvent> WaitReadable(int fd, const Deadline& deadline);
  // SIGKILL to the process group. Wait() must still be called for the status.
  void Kill();

  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0 && !status_.has_value(); }
  const std::string& captured_stdout() const { return captured_[0].text; }
  const std::string& captured_stderr() const { return captured_[1].text; }
  // True when output was dropped.
  bool stdout_truncated() const { return captured_[0].truncated; }
  bool stderr_truncated() const { return captured_[1].truncated; }

 private:
  friend Result<Process> Spawn(std::span<const std::string> argv, const SpawnOptions& options);
  struct Capture {
    UniqueFd fd;
    std::string text;
    int64_t bytes_max = 0;
    bool truncated = false;
  };
  // Reads what is there, without waiting.
  static void Pump(Capture& capture);
  Result<WaitEvent> WaitInternal(int fd, const Deadline& deadline);
  Result<ExitStatus> Reap();

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  Capture captured_[2];
  std::optional<ExitStatus> status_;
};

// argv[0] is a path; there is no search in PATH. not_found and the like when it cannot be executed.
Result<Process> Spawn(std::span<const std::string> argv, const SpawnOptions& options);
Result<Process> Spawn(std::initializer_list<std::string> argv, const SpawnOptions& options);

// The path of a program in the directories of PATH.
Result<std::string> FindProgram(const std::string& name);

}  // namespace kuafu::os
