# SPDX-License-Identifier: Apache-2.0
"""What a reference file may do: compute, read installed Python modules, print into nothing. It may
not write files, start processes, open sockets or touch other processes. Applied in the forked
child, before the first line of the file runs; cannot be undone.

Four layers, each useful without the others: another user when we are root, resource limits, a
system call filter, and Landlock where the kernel has it. The same filter exists in C++ as
os::EnterSandbox; this process cannot call it, and here a list of refused calls is enough, because
the interpreter itself needs many."""

import ctypes
import os
import platform
import resource
import signal
import struct

NOBODY = 65534
THREADS_MAX = 512
FILES_MAX = 256

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 1, 38, 22

# x86-64 numbers: ptrace, mounts, modules, other processes' memory, sockets, programs, signals to
# others, and kernel interfaces that have no place in a tensor program.
_DENIED = [
    41, 42, 43, 49, 50, 53, 57, 58, 59, 62, 101, 129, 155, 161, 165, 166, 167, 168, 169,
    170, 171, 172, 173, 175, 176, 246, 248, 249, 250, 272, 298, 303, 304, 308, 310, 311,
    312, 313, 320, 321, 322, 323, 424, 425, 426, 427, 428, 429, 430, 431, 432, 433, 434,
    438, 440, 442,
]
_CLONE, _CLONE3, _CLONE_THREAD = 56, 435, 0x10000
_ALLOW, _EPERM, _ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
_AUDIT_ARCH_X86_64 = 0xC000003E


def _filter():
    """A BPF program as bytes: struct sock_filter {u16 code; u8 jt, jf; u32 k}."""
    load, equal, anybit, ret = 0x20, 0x15, 0x45, 0x06
    code = [
        (load, 0, 0, 4), (equal, 1, 0, _AUDIT_ARCH_X86_64), (ret, 0, 0, _EPERM),
        (load, 0, 0, 0),
        (0x35, 0, 1, 0x40000000), (ret, 0, 0, _EPERM),  # the x32 numbers
        (equal, 0, 1, _CLONE3), (ret, 0, 0, _ENOSYS),  # libc then falls back to clone
    ]
    for number in _DENIED:
        code += [(equal, 0, 1, number), (ret, 0, 0, _EPERM)]
    code += [
        (equal, 0, 3, _CLONE), (load, 0, 0, 16), (anybit, 1, 0, _CLONE_THREAD),
        (ret, 0, 0, _EPERM), (ret, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *item) for item in code), len(code)


def _refuse_system_calls():
    if platform.machine() != "x86_64":
        return
    data, count = _filter()
    buffer = ctypes.create_string_buffer(data, len(data))
    program = struct.pack("<HxxxxxxQ", count, ctypes.addressof(buffer))
    holder = ctypes.create_string_buffer(program, len(program))
    if _libc.prctl(_PR_SET_SECCOMP, 2, ctypes.c_void_p(ctypes.addressof(holder)), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "installing the system call filter")


def _refuse_writing():
    """Landlock without any rule for writing; an old kernel leaves it to the other layers."""
    version = _libc.syscall(444, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return
    writing = (1 << 1) | sum(1 << bit for bit in range(4, 13))
    if version >= 3:
        writing |= 1 << 14
    attributes = ctypes.create_string_buffer(struct.pack("<Q", writing), 8)
    ruleset = _libc.syscall(444, attributes, ctypes.c_size_t(8), 0)
    if ruleset >= 0:
        _libc.syscall(446, ruleset, 0)
        os.close(ruleset)


def _address_space_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _lower(kind, value):
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def enter(memory_bytes, cpu_seconds):
    os.chdir("/")
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_AS, _address_space_bytes() + memory_bytes)
    _lower(resource.RLIMIT_CPU, cpu_seconds)
    _lower(resource.RLIMIT_FSIZE, 0)  # shared memory has its size already
    _lower(resource.RLIMIT_NOFILE, FILES_MAX)
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        _lower(resource.RLIMIT_NPROC, THREADS_MAX)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "giving up privileges")
    _refuse_writing()
    _refuse_system_calls()
