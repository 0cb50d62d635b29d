// SPDX-License-Identifier: Apache-2.0
// Goal: each thing a hostile candidate tries is refused, and what an honest one needs works.
// Method: a forked child enters the sandbox, makes the attempt with raw system calls, and exits
// with what it saw.
#include "os/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "os/file.h"
#include "os/memfd.h"

namespace kuafu::os {
namespace {

constexpr int kNoSandbox = 99;

// The sanitizers reserve terabytes of address space for themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitAddressSpace = false;
#else
constexpr bool kLimitAddressSpace = true;
#endif

// The raw wait status of a child that runs `attempt` inside the sandbox.
int RunSandboxed(const SandboxOptions& options, const std::function<int()>& attempt) {
  std::fflush(nullptr);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(100);  // ends an attempt that hangs; the thread sanitizer on a busy machine takes 20 s
    if (!EnterSandbox(options).ok()) _exit(kNoSandbox);
    _exit(attempt());
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

int ExitCode(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }

// 0 when the call failed, with the number of the error otherwise unused.
int Refused(long result) { return result < 0 ? 0 : 1; }

struct Attempt {
  const char* name;
  std::function<int()> run;  // 0 = refused
};

std::vector<Attempt> Attempts() {
  static const std::string path = "/tmp/kuafu-sandbox-escape-" + std::to_string(getpid());
  static const pid_t parent = getpid();
  static char secret[8] = "secret";
  return {
      {"fork", [] { return Refused(syscall(SYS_fork)); }},
      {"vfork", [] { return Refused(syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0)); }},
      {"clone3",
       [] {
         clone_args args{};
         args.exit_signal = SIGCHLD;
         return Refused(syscall(SYS_clone3, &args, sizeof args));
       }},
      {"new user namespace", [] { return Refused(syscall(SYS_unshare, CLONE_NEWUSER)); }},
      {"exec",
       [] {
         char* argv[] = {const_cast<char*>("/bin/true"), nullptr};
         return Refused(execve(argv[0], argv, argv + 1));
       }},
      {"socket", [] { return Refused(socket(AF_INET, SOCK_STREAM, 0)); }},
      {"socketpair",
       [] {
         int ends[2];
         return Refused(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
       }},
      {"ptrace", [] { return Refused(ptrace(PTRACE_ATTACH, parent, nullptr, nullptr)); }},
      {"process_vm_readv",
       [] {
         char copy[8];
         iovec ours{copy, sizeof copy}, theirs{secret, sizeof secret};
         return Refused(process_vm_readv(parent, &ours, 1, &theirs, 1, 0));
       }},
      {"create a file", [] { return Refused(open(path.c_str(), O_WRONLY | O_CREAT, 0666)); }},
      {"creat", [] { return Refused(syscall(SYS_creat, path.c_str(), 0666)); }},
      {"unnamed file", [] { return Refused(open("/tmp", O_TMPFILE | O_RDWR, 0600)); }},
      {"write to a device", [] { return Refused(open("/dev/null", O_RDWR)); }},
      {"openat2",
       [] {
         uint64_t how[3] = {O_RDWR, 0, 0};
         return Refused(syscall(SYS_openat2, AT_FDCWD, "/dev/null", how, sizeof how));
       }},
      {"unlink", [] { return Refused(unlink("/tmp/kuafu-no-such-file")) + (errno == ENOENT); }},
      {"rename", [] { return Refused(rename("/tmp/a", "/tmp/b")) + (errno == ENOENT); }},
      {"mkdir", [] { return Refused(mkdir(path.c_str(), 0777)); }},
      {"kill the parent", [] { return Refused(kill(parent, SIGTERM)); }},
      {"kill everybody", [] { return Refused(kill(-1, 0)); }},
      {"kill by tgkill", [] { return Refused(syscall(SYS_tgkill, parent, parent, SIGTERM)); }},
      {"pidfd_open", [] { return Refused(syscall(SYS_pidfd_open, parent, 0)); }},
      {"memory of the parent",
       [] {
         std::string memory = "/proc/" + std::to_string(parent) + "/mem";
         int fd = open(memory.c_str(), O_RDONLY);
         if (fd < 0) return 0;
         char copy[8];
         return Refused(pread(fd, copy, sizeof copy, reinterpret_cast<off_t>(secret)));
       }},
      {"raise a limit of the parent",
       [] {
         rlimit limit{1, 1};
         return Refused(prlimit(parent, RLIMIT_CPU, &limit, nullptr));
       }},
      {"io_uring",
       [] { return Refused(syscall(SYS_io_uring_setup, 1, nullptr)) + (errno == EFAULT); }},
      {"x32 getpid", [] { return Refused(syscall(0x40000000 | SYS_getpid)); }},
  };
}

class SandboxTest : public testing::TestWithParam<FileAccess> {};

TEST_P(SandboxTest, EveryAttemptIsRefused) {
  // What a parent of real candidates does where the kernel has no Landlock.
  HideFromSameUser();
  for (const Attempt& attempt : Attempts()) {
    int status = RunSandboxed({.files = GetParam()}, attempt.run);
    if (std::string(attempt.name) == "x32 getpid") {
      EXPECT_EQ(ExitCode(status), -SIGSYS) << attempt.name;
    } else {
      EXPECT_EQ(ExitCode(status), 0) << attempt.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, SandboxTest,
                         testing::Values(FileAccess::kNone, FileAccess::kReadOnly));

TEST(Sandbox, AttemptsWouldWorkOutside) {
  // The refusals above mean something only if the same calls succeed without the filter.
  int worked = 0;
  for (const char* name :
       {"socket", "socketpair", "create a file", "write to a device", "pidfd_open"}) {
    for (const Attempt& attempt : Attempts()) {
      if (std::string(attempt.name) == name) worked += attempt.run() == 1;
    }
  }
  EXPECT_EQ(worked, 5);
  unlink(("/tmp/kuafu-sandbox-escape-" + std::to_string(getpid())).c_str());
}

TEST(Sandbox, KillOptionEndsTheProcess) {
  for (const char* name : {"fork", "socket", "ptrace", "create a file"}) {
    for (const Attempt& attempt : Attempts()) {
      if (std::string(attempt.name) != name) continue;
      int status = RunSandboxed(
          {.on_violation = OnViolation::kKill, .files = FileAccess::kReadOnly}, attempt.run);
      EXPECT_EQ(ExitCode(status), -SIGSYS) << name;
    }
  }
}

TEST(Sandbox, HonestCodeWorks) {
  int result[2];
  ASSERT_EQ(pipe(result), 0);
  int status = RunSandboxed({.on_violation = OnViolation::kKill}, [&] {
    std::vector<char> big(64 << 20, 'x');
    int sum = 0;
    std::thread thread([&] { sum = big[1 << 20]; });
    thread.join();
    if (sum != 'x') return 1;
    UniqueFd memory = std::move(CreateMemfd("test", 4096)).value();
    if (!MapFd(memory.get(), 4096, Access::kReadWrite).ok()) return 2;
    if (open("/etc/passwd", O_RDONLY) >= 0) return 3;
    FILE* stream = fdopen(result[1], "w");
    if (stream == nullptr || std::fprintf(stream, "%.3f\n", 1.5) != 6) return 4;
    if (std::fflush(stream) != 0) return 5;
    usleep(1000);
    return 0;
  });
  EXPECT_EQ(ExitCode(status), 0);
  close(result[1]);  // or the read waits for ever when the child has written nothing
  char text[16] = {};
  EXPECT_EQ(read(result[0], text, sizeof text), 6);
  EXPECT_STREQ(text, "1.500\n");
  close(result[0]);
}

TEST(Sandbox, AbortAndSegfaultKeepTheirSignal) {
  EXPECT_EQ(ExitCode(RunSandboxed({}, []() -> int { std::abort(); })), -SIGABRT);
  int status = RunSandboxed({}, [] {
    std::signal(SIGSEGV, SIG_DFL);  // sanitizers install a handler of their own
    void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile int*>(page) = 1;
    return 0;
  });
  EXPECT_EQ(ExitCode(status), -SIGSEGV);
}

TEST(Sandbox, ReadOnlyFilesCanBeRead) {
  EXPECT_EQ(ExitCode(RunSandboxed({.files = FileAccess::kReadOnly},
                                  [] { return ReadFile("/etc/passwd", 1 << 20).ok() ? 0 : 1; })),
            0);
}

TEST(Sandbox, ProcessesWhenAllowed) {
  EXPECT_EQ(ExitCode(RunSandboxed({.files = FileAccess::kReadOnly, .allow_processes = true},
                                  [] {
                                    pid_t pid = fork();
                                    if (pid == 0) _exit(7);
                                    int status = 0;
                                    if (pid < 0 || waitpid(pid, &status, 0) != pid) return 1;
                                    return ExitCode(status) == 7 ? 0 : 2;
                                  })),
            0);
}

TEST(Sandbox, UserIsDroppedAndReported) {
  std::fflush(nullptr);
  const bool root = geteuid() == 0;
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Result<SandboxReport> report = EnterSandbox({});
    if (!report.ok()) _exit(1);
    if (!report.value().filter || !report.value().no_new_privileges) _exit(2);
    if (report.value().user_dropped != root) _exit(3);
    if (root ? geteuid() == 0 : report.value().missing.empty()) _exit(4);
    int death_signal = 0;
    prctl(PR_GET_PDEATHSIG, &death_signal);
    _exit(death_signal == SIGKILL ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(ExitCode(status), 0);
}

TEST(Limits, FileSizeAndMemory) {
  std::fflush(nullptr);
  TempDir dir = TempDir::Create("test").value();
  pid_t pid = fork();
  if (pid == 0) {
    Limits limits{.file_bytes = 1000, .open_files = 20};
    if (kLimitAddressSpace) limits.address_space_bytes = int64_t{8} << 30;
    if (!ApplyLimits(limits).ok()) {
      _exit(1);
    }
    std::signal(SIGXFSZ, SIG_IGN);
    int fd = open(dir.File("f").c_str(), O_WRONLY | O_CREAT, 0600);
    std::string text(2000, 'x');
    if (write(fd, text.data(), text.size()) != 1000) _exit(2);
    if (write(fd, text.data(), text.size()) >= 0 || errno != EFBIG) _exit(3);
    int last = 0;
    for (int i = 0; i < 30 && last >= 0; ++i) last = dup(fd);
    if (last >= 0 || errno != EMFILE) _exit(4);
    if (!kLimitAddressSpace) _exit(0);
    void* big = mmap(nullptr, size_t{16} << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    _exit(big == MAP_FAILED ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(ExitCode(status), 0);
}

}  // namespace
}  // namespace kuafu::os
