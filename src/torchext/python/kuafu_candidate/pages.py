# SPDX-License-Identifier: Apache-2.0
"""Less work for the memory of a forked process, which shares its pages with the zygote until it
writes them. On a virtual machine each such write is a fault of 20 us and more, and a child writes
1500 pages, nearly the same ones whatever the candidate: counts of references, mostly. A rehearsal
in a child of the zygote's own tells which. Every later child has them copied by one call, for a
third of the time. No candidate takes part in the rehearsal. Where the kernel does not offer the
call (Linux before 6.13), all works as before, only slower.

  written = learn(rehearse)   # in the zygote
  copy(written)               # first of all in a child"""

import ctypes
import mmap
import os
import re
import struct

RANGES_MAX = 8192
_PAGE = mmap.PAGESIZE
_RANGES_IN_CALL = 1024  # what the kernel takes
_PRESENT, _EXCLUSIVE = 1 << 63, 1 << 56  # of an entry of pagemap
_MADV_POPULATE_WRITE = 23
_PROCESS_MADVISE = 440  # of x86-64
_libc = ctypes.CDLL(None)


class _Range(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def _pages(bit):
    """The numbers of this process's writable private pages that have the bit."""
    found = set()
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        maps = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-p ", file.read(), re.M)
    with open("/proc/self/pagemap", "rb") as pagemap:
        for begin, end in maps:
            first, count = int(begin, 16) // _PAGE, (int(end, 16) - int(begin, 16)) // _PAGE
            pagemap.seek(first * 8)
            data = pagemap.read(count * 8)
            entries = struct.unpack(f"{len(data) // 8}Q", data)
            found.update(first + i for i, e in enumerate(entries) if e & _PRESENT and e & bit)
    return found


def _written_by_child(rehearse):
    pipe, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(pipe)
            rehearse()
            pages = sorted(_pages(_EXCLUSIVE))
            with os.fdopen(theirs, "wb") as file:
                file.write(struct.pack(f"{len(pages)}Q", *pages))
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(pipe, "rb") as file:
        data = file.read()
    os.waitpid(pid, 0)
    return struct.unpack(f"{len(data) // 8}Q", data)


def learn(rehearse):
    """What a forked process writes when it calls `rehearse`, for copy(). An empty list: unknown."""
    try:
        here = _pages(_PRESENT)  # what the child has mapped since is not in the next one
        pages = [page for page in _written_by_child(rehearse) if page in here]
    except (OSError, struct.error):
        return ()
    ranges = []
    for page in pages:
        if ranges and ranges[-1][1] == page:
            ranges[-1][1] = page + 1
        else:
            ranges.append([page, page + 1])
    array = (_Range * min(len(ranges), RANGES_MAX))()
    for entry, (begin, end) in zip(array, ranges):
        entry.base, entry.size = begin * _PAGE, (end - begin) * _PAGE
    return array


def copy(written):
    """First of all in a new process. Never fails: what is not copied here will be by a fault."""
    if len(written) == 0:
        return
    me = os.pidfd_open(os.getpid())
    for first in range(0, len(written), _RANGES_IN_CALL):
        count = min(_RANGES_IN_CALL, len(written) - first)
        _libc.syscall(_PROCESS_MADVISE, me, ctypes.byref(written, first * ctypes.sizeof(_Range)),
                      ctypes.c_size_t(count), _MADV_POPULATE_WRITE, 0)
    os.close(me)
