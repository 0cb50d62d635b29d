// SPDX-License-Identifier: Apache-2.0
// Limits, the seccomp filter and the change of user. The filter is written by hand: it is a
// straight line of comparisons, one page long, and a library would hide the part that has to be
// reviewed.
#include "os/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <initializer_list>
#include <span>

#include "os/fd.h"

namespace kuafu::os {
namespace {

constexpr uid_t kNobody = 65534;

// Newer than the headers of Debian 12, or only in some of them.
constexpr int kFutexWaitv = 449;
constexpr int kRseq = 334;

class FilterProgram {
 public:
  FilterProgram() {
    Load(offsetof(seccomp_data, arch));
    SkipNextIfEqual(AUDIT_ARCH_X86_64);
    Return(SECCOMP_RET_KILL_PROCESS);
    LoadNumber();
    // The x32 table repeats every call under other numbers.
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1));
    Return(SECCOMP_RET_KILL_PROCESS);
  }

  void Answer(std::initializer_list<int> calls, uint32_t answer) {
    for (int call : calls) {
      code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
      Return(answer);
    }
  }
  // `call` is allowed when (argument & mask) == value, and gets `otherwise` if not. Only the low
  // half of the argument is looked at, which is all that an int or a flag word has.
  void AllowIf(int call, int argument, uint32_t mask, uint32_t value, uint32_t otherwise) {
    AllowIfOneOf(call, argument, mask, {value}, otherwise);
  }
  void AllowIfOneOf(int call, int argument, uint32_t mask, std::initializer_list<uint32_t> values,
                    uint32_t otherwise) {
    const auto body = static_cast<uint8_t>(3 + 2 * values.size());
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, body));
    Load(
        static_cast<uint32_t>(offsetof(seccomp_data, args) + 8u * static_cast<uint32_t>(argument)));
    code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    for (uint32_t value : values) {
      code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
      Return(SECCOMP_RET_ALLOW);
    }
    Return(otherwise);
  }
  void Return(uint32_t answer) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, answer)); }

  std::span<sock_filter> code() { return code_; }

 private:
  void Load(uint32_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }
  void LoadNumber() { Load(offsetof(seccomp_data, nr)); }
  void SkipNextIfEqual(uint32_t value) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
  }

  std::vector<sock_filter> code_;
};

FilterProgram BuildFilter(const SandboxOptions& options) {
  const uint32_t refuse = options.on_violation == OnViolation::kKill ? SECCOMP_RET_KILL_PROCESS
                                                                     : SECCOMP_RET_ERRNO | EPERM;
  const auto self = static_cast<uint32_t>(getpid());
  FilterProgram filter;

  // Memory.
  filter.Answer({SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_mincore,
                 SYS_msync, SYS_mlock, SYS_munlock, SYS_memfd_create, SYS_ftruncate, SYS_fallocate},
                SECCOMP_RET_ALLOW);
  // Input and output on what is open already.
  filter.Answer({SYS_read,          SYS_write,     SYS_readv,      SYS_writev,      SYS_pread64,
                 SYS_pwrite64,      SYS_preadv,    SYS_pwritev,    SYS_lseek,       SYS_close,
                 SYS_close_range,   SYS_dup,       SYS_dup2,       SYS_dup3,        SYS_fcntl,
                 SYS_fstat,         SYS_fsync,     SYS_fdatasync,  SYS_pipe,        SYS_pipe2,
                 SYS_eventfd2,      SYS_poll,      SYS_ppoll,      SYS_select,      SYS_pselect6,
                 SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait, SYS_epoll_pwait, SYS_sendmsg,
                 SYS_recvmsg,       SYS_recvfrom,  SYS_shutdown,   SYS_getsockopt},
                SECCOMP_RET_ALLOW);
  // send() is sendto() without an address; with one it would be a datagram to anybody.
  filter.AllowIf(SYS_sendto, 4, 0xffffffffu, 0, refuse);
  // TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX. Not TIOCSTI, which types into the terminal.
  filter.AllowIfOneOf(SYS_ioctl, 1, 0xffffffffu, {0x5401, 0x5413, 0x541B, 0x5421, 0x5451},
                      SECCOMP_RET_ERRNO | ENOTTY);
  // Threads, time, signals to itself.
  filter.Answer({SYS_futex,
                 kFutexWaitv,
                 SYS_set_robust_list,
                 SYS_get_robust_list,
                 kRseq,
                 SYS_membarrier,
                 SYS_sched_yield,
                 SYS_sched_getaffinity,
                 SYS_sched_setaffinity,
                 SYS_sched_getparam,
                 SYS_sched_getscheduler,
                 SYS_sched_get_priority_max,
                 SYS_sched_get_priority_min,
                 SYS_getcpu,
                 SYS_set_tid_address,
                 SYS_arch_prctl,
                 SYS_exit,
                 SYS_exit_group,
                 SYS_restart_syscall,
                 SYS_nanosleep,
                 SYS_clock_nanosleep,
                 SYS_clock_gettime,
                 SYS_clock_getres,
                 SYS_gettimeofday,
                 SYS_time,
                 SYS_times,
                 SYS_getrusage,
                 SYS_rt_sigaction,
                 SYS_rt_sigprocmask,
                 SYS_rt_sigreturn,
                 SYS_rt_sigpending,
                 SYS_rt_sigtimedwait,
                 SYS_rt_sigsuspend,
                 SYS_sigaltstack,
                 SYS_pause,
                 SYS_alarm,
                 SYS_setitimer,
                 SYS_getitimer},
                SECCOMP_RET_ALLOW);
  // glibc falls back to clone() when clone3() does not exist; only clone() has its flags in a
  // register.
  filter.Answer({SYS_clone3}, SECCOMP_RET_ERRNO | ENOSYS);
  if (options.allow_processes) {
    // No new namespaces: inside one, a process is its own root.
    constexpr uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                     CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP;
    filter.AllowIf(SYS_clone, 0, kNamespaces, 0, refuse);
    filter.Answer({SYS_fork, SYS_vfork, SYS_execve, SYS_wait4, SYS_waitid, SYS_setpgid},
                  SECCOMP_RET_ALLOW);
  } else {
    filter.AllowIf(SYS_clone, 0, CLONE_THREAD, CLONE_THREAD, refuse);
    filter.Answer({SYS_wait4, SYS_waitid}, SECCOMP_RET_ERRNO | ECHILD);
  }
  filter.AllowIf(SYS_tgkill, 0, 0xffffffffu, self, refuse);
  filter.AllowIf(SYS_kill, 0, 0xffffffffu, self, refuse);
  // Names of threads and of memory; asking for the death signal and the dumpable flag.
  filter.AllowIfOneOf(
      SYS_prctl, 0, 0xffffffffu,
      {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_GET_PDEATHSIG, 0x53564d41 /* PR_SET_VMA */},
      SECCOMP_RET_ERRNO | EINVAL);
  // Reading a limit, not raising one; of this process only.
  filter.Answer({SYS_getrlimit}, SECCOMP_RET_ALLOW);
  filter.AllowIf(SYS_prlimit64, 2, 0xffffffffu, 0, refuse);
  // Who and where am I.
  filter.Answer({SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid,
                 SYS_getegid, SYS_getpgrp, SYS_getpgid, SYS_getsid, SYS_getresuid, SYS_getresgid,
                 SYS_getgroups, SYS_getcwd, SYS_uname, SYS_sysinfo, SYS_getrandom, SYS_capget},
                SECCOMP_RET_ALLOW);
  // glibc's fstat() is newfstatat(fd, "", AT_EMPTY_PATH).
  filter.AllowIf(
      SYS_newfstatat, 3, AT_EMPTY_PATH, AT_EMPTY_PATH,
      options.files == FileAccess::kReadOnly ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EACCES);
  filter.Answer({SYS_openat2}, SECCOMP_RET_ERRNO | ENOSYS);
  if (options.files == FileAccess::kReadOnly) {
    constexpr uint32_t kWriting =
        O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
    filter.AllowIf(SYS_open, 1, kWriting, 0, refuse);
    filter.AllowIf(SYS_openat, 2, kWriting, 0, refuse);
    filter.Answer(
        {SYS_stat, SYS_lstat, SYS_statx, SYS_access, SYS_faccessat, SYS_faccessat2, SYS_readlink,
         SYS_readlinkat, SYS_getdents64, SYS_statfs, SYS_fstatfs, SYS_fadvise64, SYS_readahead},
        SECCOMP_RET_ALLOW);
  } else {
    // The C library probes files in good faith (locale, CPU count), so this is never a violation.
    filter.Answer({SYS_open, SYS_openat, SYS_stat, SYS_lstat, SYS_statx, SYS_access, SYS_faccessat,
                   SYS_faccessat2, SYS_readlink, SYS_readlinkat},
                  SECCOMP_RET_ERRNO | EACCES);
  }
  // Known attempts to get out, then everything that is not named above.
  filter.Answer({SYS_fork,
                 SYS_vfork,
                 SYS_execve,
                 SYS_execveat,
                 SYS_ptrace,
                 SYS_process_vm_readv,
                 SYS_process_vm_writev,
                 SYS_pidfd_getfd,
                 SYS_pidfd_open,
                 SYS_pidfd_send_signal,
                 SYS_socket,
                 SYS_socketpair,
                 SYS_connect,
                 SYS_bind,
                 SYS_listen,
                 SYS_accept,
                 SYS_accept4,
                 SYS_creat,
                 SYS_unlink,
                 SYS_unlinkat,
                 SYS_rename,
                 SYS_renameat,
                 SYS_renameat2,
                 SYS_link,
                 SYS_linkat,
                 SYS_symlink,
                 SYS_symlinkat,
                 SYS_mkdir,
                 SYS_mkdirat,
                 SYS_rmdir,
                 SYS_truncate,
                 SYS_chmod,
                 SYS_fchmodat,
                 SYS_chown,
                 SYS_tkill,
                 SYS_mount,
                 SYS_unshare,
                 SYS_setns,
                 SYS_bpf,
                 SYS_keyctl,
                 SYS_add_key,
                 SYS_perf_event_open,
                 SYS_io_uring_setup,
                 SYS_userfaultfd},
                refuse);
  filter.Return(SECCOMP_RET_ERRNO | EPERM);
  return filter;
}

int SetLimit(int resource, const std::optional<int64_t>& value) {
  if (!value.has_value()) return 0;
  rlimit current{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &current) != 0) return errno;
  auto wanted = static_cast<rlim_t>(*value < 0 ? 0 : *value);
  // A limit that is already lower stays: raising it would need privileges and is never meant.
  if (wanted > current.rlim_max) wanted = current.rlim_max;
  rlimit next{wanted, wanted};
  // One second between SIGXCPU and SIGKILL: the parent can then tell which limit it was.
  if (resource == RLIMIT_CPU && wanted < current.rlim_max) next.rlim_max = wanted + 1;
  return setrlimit(static_cast<__rlimit_resource_t>(resource), &next) == 0 ? 0 : errno;
}

Status DropUser(SandboxReport& report) {
  if (geteuid() != 0) {
    report.missing.push_back("user: not root, so the sandbox runs as the calling user");
    return OkStatus();
  }
  int death_signal = 0;
  prctl(PR_GET_PDEATHSIG, &death_signal);
  if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
      setresuid(kNobody, kNobody, kNobody) != 0) {
    return ErrnoError("changing to the user nobody", errno);
  }
  // The kernel clears the death signal together with the user.
  if (death_signal != 0) prctl(PR_SET_PDEATHSIG, death_signal);
  report.user_dropped = true;
  return OkStatus();
}

// A Landlock domain without rules: nothing in the file system can be changed, and processes outside
// of it cannot be traced or read through /proc, even when they belong to the same user.
void EnterLandlock(SandboxReport& report) {
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  UniqueFd ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (ruleset.valid() && syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0) {
    report.landlock = true;
    return;
  }
  report.missing.push_back(std::string("landlock: ") +
                           ErrnoError("not available on this kernel", errno).message);
}

}  // namespace

Status ApplyLimits(const Limits& limits) {
  struct Item {
    int resource;
    const char* name;
    std::optional<int64_t> value;
  };
  const Item items[] = {{RLIMIT_CORE, "core size", 0},
                        {RLIMIT_CPU, "cpu seconds", limits.cpu_seconds},
                        {RLIMIT_FSIZE, "file size", limits.file_bytes},
                        {RLIMIT_NOFILE, "open files", limits.open_files},
                        {RLIMIT_AS, "address space", limits.address_space_bytes},
                        {RLIMIT_STACK, "stack size", limits.stack_bytes},
                        {RLIMIT_NPROC, "processes", limits.processes}};
  for (const Item& item : items) {
    int error = SetLimit(item.resource, item.value);
    if (error != 0) return ErrnoError(std::string("setting the limit for ") + item.name, error);
  }
  return OkStatus();
}

Result<SandboxReport> EnterSandbox(const SandboxOptions& options) {
  SandboxReport report;
  // The program is built first: it allocates, and the filter may be in the way of that on some
  // libc.
  FilterProgram filter = BuildFilter(options);
  if (options.drop_user) {
    Status status = DropUser(report);
    if (!status.ok()) report.missing.push_back("user: " + status.error().message);
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return ErrnoError("setting no_new_privs", errno);
  }
  report.no_new_privileges = true;
  EnterLandlock(report);
  if (!report.landlock && !report.user_dropped && options.files == FileAccess::kReadOnly) {
    report.missing.push_back(
        "memory: processes of the same user can be read through /proc; make the parent "
        "non-dumpable with HideFromSameUser()");
  }
  // /proc/<pid>/mem and ptrace of this process by its equals.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  sock_fprog program{static_cast<unsigned short>(filter.code().size()), filter.code().data()};
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (result < 0) return ErrnoError("installing the system call filter", errno);
  if (result > 0) {
    return Error{Code::kInternal, "installing the system call filter: thread " +
                                      std::to_string(result) + " has a filter of its own"};
  }
  report.filter = true;
  return report;
}

void HideFromSameUser() { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

}  // namespace kuafu::os
