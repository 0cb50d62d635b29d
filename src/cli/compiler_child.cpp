// SPDX-License-Identifier: Apache-2.0
// Fork, limits, wait with a deadline. os::Spawn always execs, hence this.
#include "cli/compiler_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "os/clock.h"
#include "os/fd.h"
#include "os/memfd.h"
#include "os/sandbox.h"

namespace kuafu::cli {
namespace {

constexpr int64_t kStderrBytesMax = 4096;

void BecomeChild(pid_t parent, const ChildLimits& limits, int stderr_fd) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(125);
  const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_fd >= 0) dup2(null_fd, 0);
  dup2(stderr_fd, 1);
  dup2(stderr_fd, 2);
  os::Limits l;
  l.cpu_seconds = limits.timeout_ms / 1000 + 1;
  l.address_space_bytes = limits.address_space_bytes;
  l.file_bytes = limits.file_bytes;
  if (!os::ApplyLimits(l).ok()) _exit(125);
}

std::string ReadStart(int fd) {
  std::string text(kStderrBytesMax, '\0');
  const ssize_t n = pread(fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text;
}

enum class Waited { kEnded, kDeadline, kCancelled };

Waited WaitUntil(int pidfd, int cancel_fd, const os::Deadline& deadline) {
  for (;;) {
    pollfd p[2] = {{pidfd, POLLIN, 0}, {cancel_fd, POLLIN, 0}};
    const int n = poll(p, 2, deadline.PollTimeoutMs());
    if (n > 0 && p[0].revents != 0) return Waited::kEnded;
    if (n > 0) return Waited::kCancelled;
    if (n == 0 && deadline.Expired()) return Waited::kDeadline;
    if (n < 0 && errno != EINTR) return Waited::kDeadline;
  }
}

int Reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::string ChildEnd::ToString() const {
  std::string text = signal != 0
                         ? "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")"
                         : "exit code " + std::to_string(exit_code);
  const std::string line = stderr_text.substr(0, stderr_text.find('\n')).substr(0, 300);
  if (!line.empty()) text += ": " + line;
  return text;
}

Result<std::optional<ChildEnd>> ForkAndWait(const ChildLimits& limits) {
  KUAFU_TRY(const os::UniqueFd stderr_fd, os::CreateMemfd("kuafu-stderr", 0));
  const os::Deadline deadline = os::Deadline::AfterMs(limits.timeout_ms);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return os::ErrnoError("starting a compiler process", errno);
  if (pid == 0) {
    BecomeChild(parent, limits, stderr_fd.get());
    return std::optional<ChildEnd>();
  }
  setpgid(pid, pid);  // here as well, so that the kill below finds the group
  const os::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  ChildEnd end;
  end.timed_out =
      !pidfd.valid() || WaitUntil(pidfd.get(), limits.cancel_fd, deadline) == Waited::kDeadline;
  // Also after a normal end: nothing it has started may outlive it.
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  const int status = Reap(pid);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  // The limit on CPU time may strike first.
  if (end.signal == SIGXCPU) end.timed_out = true;
  end.stderr_text = ReadStart(stderr_fd.get());
  return std::optional<ChildEnd>(std::move(end));
}

Result<Helper> ForkHelper() {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return os::ErrnoError("starting a compiler process", errno);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(125);
  }
  return Helper{pid};
}

void EndHelper(pid_t pid) {
  kill(pid, SIGKILL);
  Reap(pid);
}

}  // namespace kuafu::cli
