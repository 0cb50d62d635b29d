// SPDX-License-Identifier: Apache-2.0
// fork and exec rather than posix_spawn: limits, process group and death signal must be set in the
// child. Between fork and exec only async-signal-safe calls are made, since other threads may have
// held any lock; an error there comes back through a pipe that exec closes.
#include "os/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "base/text.h"
#include "os/file.h"
#include "os/memfd.h"

namespace kuafu::os {
namespace {

// Descriptors are first moved above every target, so that no dup2 can overwrite a source.
constexpr int kParkedFdMin = 64;
constexpr int kTargetFdMax = 63;
constexpr size_t kInheritedFdsMax = 32;

// Everything the child needs, prepared before the fork.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> environment;
  const char* working_directory = nullptr;
  std::vector<InheritedFd> fds;  // standard streams included
  const Limits* limits = nullptr;
  pid_t parent = 0;
  bool die_with_parent = false;
  int error_fd = -1;
};

// Which step failed, and why.
struct ChildFailure {
  int step;
  int error;
};
constexpr std::array<const char*, 5> kSteps = {"moving descriptors", "setting limits",
                                               "changing the directory", "executing", "starting"};

[[noreturn]] void ChildFail(const ChildPlan& plan, int step) {
  ChildFailure failure{step, errno};
  ssize_t ignored = write(plan.error_fd, &failure, sizeof failure);
  static_cast<void>(ignored);
  _exit(127);
}

[[noreturn]] void RunChild(const ChildPlan& plan) {
  setpgid(0, 0);
  if (plan.die_with_parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != plan.parent) _exit(127);  // it died before we asked
  }
  for (int signal = 1; signal < 32; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) std::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);

  std::array<int, kInheritedFdsMax> parked{};
  for (size_t i = 0; i < plan.fds.size(); ++i) {
    parked[i] = fcntl(plan.fds[i].fd, F_DUPFD_CLOEXEC, kParkedFdMin);
    if (parked[i] < 0) ChildFail(plan, 0);
  }
  // Whatever a library has opened without close-on-exec stays here.
  if (syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC) != 0) ChildFail(plan, 0);
  for (size_t i = 0; i < plan.fds.size(); ++i) {
    if (dup2(parked[i], plan.fds[i].target) < 0) ChildFail(plan, 0);
  }
  if (plan.working_directory != nullptr && chdir(plan.working_directory) != 0) ChildFail(plan, 2);
  if (!ApplyLimits(*plan.limits).ok()) ChildFail(plan, 1);
  execve(plan.argv[0], plan.argv.data(), plan.environment.data());
  ChildFail(plan, 3);
}

Result<std::array<UniqueFd, 2>> MakePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoError("creating a pipe", errno);
  return std::array<UniqueFd, 2>{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// The error pipe must be above the targets, or a dup2 in the child would close it.
Status MoveAboveTargets(UniqueFd& fd) {
  int moved = fcntl(fd.get(), F_DUPFD_CLOEXEC, kParkedFdMin);
  if (moved < 0) return ErrnoError("moving a descriptor", errno);
  fd.Reset(moved);
  return OkStatus();
}

Result<UniqueFd> OpenInput(const std::string& bytes) {
  if (bytes.empty()) {
    UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null.valid()) return ErrnoError("opening /dev/null", errno);
    return null;
  }
  KUAFU_TRY(UniqueFd fd, CreateMemfd("stdin", 0));
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count =
        pwrite(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count < 0) return ErrnoError("writing the input of a process", errno);
    done += static_cast<size_t>(count);
  }
  return fd;
}

int64_t ToNs(const timeval& time) {
  return static_cast<int64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<int64_t>(time.tv_usec) * kNsPerUs;
}

}  // namespace

std::string ExitStatus::ToString() const {
  if (signal == 0) return "exit code " + std::to_string(exit_code);
  return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      captured_{std::move(other.captured_[0]), std::move(other.captured_[1])},
      status_(std::exchange(other.status_, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pidfd_, other.pidfd_);
  std::swap(captured_, other.captured_);
  std::swap(status_, other.status_);
  return *this;
}

Process::~Process() {
  if (!running()) return;
  Kill();
  static_cast<void>(Reap());
}

void Process::Kill() {
  // Before the child is reaped its pid, and so the group's number, cannot be given to another.
  if (running()) kill(-pid_, SIGKILL);
  if (running()) kill(pid_, SIGKILL);  // when it has left its group
}

void Process::Pump(Capture& capture) {
  std::array<char, 16 * 1024> buffer;
  // Bounded, so that a child that prints for ever cannot keep us from seeing the deadline.
  for (int i = 0; i < 64 && capture.fd.valid(); ++i) {
    ssize_t count = read(capture.fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      capture.fd.Reset();
      return;
    }
    int64_t room = capture.bytes_max - static_cast<int64_t>(capture.text.size());
    int64_t kept = std::min<int64_t>(room, count);
    capture.text.append(buffer.data(), static_cast<size_t>(kept));
    if (kept < count) capture.truncated = true;
  }
}

Result<WaitEvent> Process::WaitInternal(int fd, const Deadline& deadline) {
  if (!pidfd_.valid())
    return Error{Code::kInvalidInput, "waiting for a process that was not started"};
  while (true) {
    std::array<pollfd, 4> items{};
    items[0] = {pidfd_.get(), POLLIN, 0};
    items[1] = {fd, POLLIN, 0};  // a negative descriptor is ignored by poll
    items[2] = {captured_[0].fd.get(), POLLIN, 0};
    items[3] = {captured_[1].fd.get(), POLLIN, 0};
    int count = poll(items.data(), items.size(), deadline.PollTimeoutMs());
    if (count < 0 && errno != EINTR) return ErrnoError("waiting for a process", errno);
    if (count > 0) {
      for (Capture& capture : captured_) Pump(capture);
      // The answer first: a child may answer and exit at once.
      if (items[1].revents != 0) return WaitEvent::kReadable;
      if (items[0].revents != 0) return WaitEvent::kExited;
    }
    if (deadline.Expired()) return Error{Code::kDeadline, "waiting for a process: out of time"};
  }
}

Result<WaitEvent> Process::WaitReadable(int fd, const Deadline& deadline) {
  if (status_.has_value()) return WaitEvent::kExited;
  return WaitInternal(fd, deadline);
}

Result<ExitStatus> Process::Wait(const Deadline& deadline) {
  if (status_.has_value()) return *status_;
  Result<WaitEvent> event = WaitInternal(-1, deadline);
  if (!event.ok()) {
    if (event.error().code != Code::kDeadline) return std::move(event).error();
    Kill();
    KUAFU_TRY(ExitStatus ignored, Reap());
    static_cast<void>(ignored);
    return std::move(event).error();
  }
  return Reap();
}

Result<ExitStatus> Process::Reap() {
  // Without WNOWAIT first, a grandchild could outlive the group's number.
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) return ErrnoError("waiting for process " + std::to_string(pid_), errno);
  }
  kill(-pid_, SIGKILL);
  int raw = 0;
  rusage usage{};
  while (wait4(pid_, &raw, 0, &usage) < 0) {
    if (errno != EINTR) return ErrnoError("waiting for process " + std::to_string(pid_), errno);
  }
  for (Capture& capture : captured_) {
    Pump(capture);
    capture.fd.Reset();
  }
  ExitStatus status;
  if (WIFEXITED(raw)) status.exit_code = WEXITSTATUS(raw);
  if (WIFSIGNALED(raw)) status.signal = WTERMSIG(raw);
  status.user_ns = ToNs(usage.ru_utime);
  status.system_ns = ToNs(usage.ru_stime);
  status.peak_memory_bytes = static_cast<int64_t>(usage.ru_maxrss) * 1024;
  status_ = status;
  return status;
}

Result<Process> Spawn(std::span<const std::string> argv, const SpawnOptions& options) {
  if (argv.empty()) return Error{Code::kInvalidInput, "starting a process: no program given"};
  if (options.inherited_fds.size() + 3 > kInheritedFdsMax) {
    return Error{Code::kInvalidInput, "starting a process: too many inherited descriptors"};
  }
  ChildPlan plan;
  for (const std::string& argument : argv) plan.argv.push_back(const_cast<char*>(argument.c_str()));
  plan.argv.push_back(nullptr);
  if (options.environment.has_value()) {
    for (const std::string& entry : *options.environment) {
      plan.environment.push_back(const_cast<char*>(entry.c_str()));
    }
  } else {
    for (char** entry = environ; *entry != nullptr; ++entry) plan.environment.push_back(*entry);
  }
  plan.environment.push_back(nullptr);
  if (!options.working_directory.empty())
    plan.working_directory = options.working_directory.c_str();
  plan.limits = &options.limits;
  plan.parent = getpid();
  plan.die_with_parent = options.die_with_parent;

  Process process;
  KUAFU_TRY(UniqueFd input, OpenInput(options.stdin_bytes));
  plan.fds.push_back({input.get(), 0});
  UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!null.valid()) return ErrnoError("opening /dev/null", errno);
  std::array<UniqueFd, 2> write_ends;
  const std::array<Stream, 2> streams = {options.stdout_stream, options.stderr_stream};
  for (size_t i = 0; i < streams.size(); ++i) {
    const int target = static_cast<int>(i) + 1;
    if (streams[i] == Stream::kNull) plan.fds.push_back({null.get(), target});
    if (streams[i] != Stream::kCapture) continue;
    KUAFU_TRY(auto ends, MakePipe());
    fcntl(ends[0].get(), F_SETFL, O_NONBLOCK);
    process.captured_[i].fd = std::move(ends[0]);
    process.captured_[i].bytes_max = options.capture_bytes_max;
    write_ends[i] = std::move(ends[1]);
    plan.fds.push_back({write_ends[i].get(), target});
  }
  for (const InheritedFd& item : options.inherited_fds) {
    if (item.target < 3 || item.target > kTargetFdMax) {
      return Error{Code::kInvalidInput, "starting a process: descriptor number " +
                                            std::to_string(item.target) + " is not in 3..63"};
    }
    plan.fds.push_back(item);
  }
  KUAFU_TRY(auto error_pipe, MakePipe());
  KUAFU_TRY_STATUS(MoveAboveTargets(error_pipe[1]));
  plan.error_fd = error_pipe[1].get();

  pid_t pid = fork();
  if (pid == 0) RunChild(plan);
  if (pid < 0) return ErrnoError("starting " + argv[0], errno);
  // Here as well as in the child: whoever is first, the group exists before Kill() can be called.
  setpgid(pid, pid);
  process.pid_ = pid;
  process.pidfd_.Reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.pidfd_.valid()) return ErrnoError("watching process " + std::to_string(pid), errno);
  error_pipe[1].Reset();
  ChildFailure failure{4, 0};
  ssize_t count = 0;
  do {
    count = read(error_pipe[0].get(), &failure, sizeof failure);
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(sizeof failure)) {
    static_cast<void>(process.Reap());
    const auto step = static_cast<size_t>(std::clamp(failure.step, 0, 4));
    return ErrnoError("starting " + argv[0] + ": " + kSteps[step], failure.error);
  }
  return process;
}

Result<Process> Spawn(std::initializer_list<std::string> argv, const SpawnOptions& options) {
  return Spawn(std::span<const std::string>(argv.begin(), argv.size()), options);
}

Result<std::string> FindProgram(const std::string& name) {
  std::string path_list = GetEnv("PATH").value_or("/usr/bin:/bin");
  for (std::string_view directory : Split(path_list, ':')) {
    if (directory.empty()) continue;
    std::string path = JoinPath(directory, name);
    if (!IsDirectory(path) && access(path.c_str(), X_OK) == 0) return path;
  }
  return Error{Code::kNotFound, "program '" + EscapeForMessage(name, 60) + "' is not in PATH"};
}

}  // namespace kuafu::os
