# SPDX-License-Identifier: Apache-2.0
"""Imports PyTorch once and forks for every request, so that a request costs milliseconds instead of
the seconds of the import, and a file that crashes, hangs or eats memory costs its own fork only.

Started by frontend::Helper with a socket as descriptor 3. One request at a time:
  -> {"id", "timeout_ms", "memory_bytes", "source", "name", "plan", "seed", "nominal_only",
      "as_built", "compat_kernelbench", "alternatives"}
     or {"id", "timeout_ms", "memory_bytes", "source", "name", "operators": true}
  <- {"id", "status": "answered"} with [reply, inputs, truth]: sealed memfds; reply is JSON
     {"id", "status": "ended", "exit_code"|"signal", "stage"}: it died without an answer
     {"id", "status": "deadline", "stage"}
The first frame is {"ready": true, "torch", "torch_file"} or {"ready": false, "error"}.

The child never touches the socket. It writes into memory that this process has made, and says how
much in a shared page; whatever it writes there is checked on the other side."""

import fcntl
import gc
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from kuafu_frontend import wire  # noqa: E402

SOCKET_FD = 3
REPLY_BYTES_MAX = 64 << 20
DATA_BYTES_MAX = 2 << 30
STAGES = ["starting", "loading the file", "calling get_init_inputs()", "creating Model",
          "calling get_inputs()", "running forward()", "writing the answer"]
# stage, answered, bytes of reply, inputs, truth
PAGE = struct.Struct("<IIQQQ")


def make_memfd(name, size):
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    return fd


def seal(fd, size):
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
                | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL)


def run_child(request, fds, page, sock):
    """Never returns."""
    code = 1
    try:
        os.setsid()
        sock.close()
        null = os.open("/dev/null", os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        if null > 2:
            os.close(null)
        from kuafu_frontend import child
        code = child.answer(request, fds, page, PAGE)
    finally:
        os._exit(code)


def wait_for(pid, sock, deadline):
    """The exit status, or None at the deadline. Ends this process when the other side has gone."""
    pidfd = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        poll.register(sock.fileno(), 0)  # hang-up only
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            for fd, _ in poll.poll(int(left * 1000) + 1):
                if fd == pidfd:
                    return os.waitpid(pid, 0)[1]
                os.kill(pid, signal.SIGKILL)
                os._exit(0)
    finally:
        os.close(pidfd)


def kill_group(pid):
    for target in (-pid, pid):
        try:
            os.kill(target, signal.SIGKILL)
        except OSError:
            pass


def serve(request, sock):
    deadline = time.monotonic() + max(request["timeout_ms"], 1) / 1000
    fds = [make_memfd("kuafu-reply", REPLY_BYTES_MAX),
           make_memfd("kuafu-inputs", DATA_BYTES_MAX),
           make_memfd("kuafu-truth", DATA_BYTES_MAX)]
    page = mmap.mmap(-1, mmap.PAGESIZE)
    try:
        pid = os.fork()
        if pid == 0:
            run_child(request, fds, page, sock)
        status = wait_for(pid, sock, deadline)
        if status is None:
            kill_group(pid)
            os.waitpid(pid, 0)
        else:
            kill_group(pid)  # what it may have started
        stage, answered, *sizes = PAGE.unpack_from(page, 0)
        reply = {"id": request["id"], "stage": STAGES[stage] if stage < len(STAGES) else "running"}
        limits = (REPLY_BYTES_MAX, DATA_BYTES_MAX, DATA_BYTES_MAX)
        if status is None:
            reply["status"] = "deadline"
        elif status == 0 and answered == 1 and all(s <= m for s, m in zip(sizes, limits)):
            for fd, size in zip(fds, sizes):
                seal(fd, size)
            reply["status"] = "answered"
            wire.send(sock, reply, fds)
            return
        else:
            reply["status"] = "ended"
            if os.WIFSIGNALED(status):
                reply["signal"] = os.WTERMSIG(status)
            else:
                reply["exit_code"] = os.WEXITSTATUS(status)
        wire.send(sock, reply)
    finally:
        page.close()
        wire.close_all(fds)


def main():
    sock = socket.socket(fileno=SOCKET_FD)
    try:
        import torch
        torch.set_num_threads(1)  # before any operation: a fork after a threaded one hangs
        from kuafu_frontend import child
        child.warm_up()
    except Exception as error:  # whatever an incomplete installation does
        wire.send(sock, {"ready": False, "error": f"{type(error).__name__}: {error}"[:500]})
        return
    version_file = os.path.join(os.path.dirname(torch.__file__), "version.py")
    wire.send(sock, {"ready": True, "torch": torch.__version__, "torch_file": version_file})
    gc.collect()
    gc.freeze()  # the collector would otherwise touch, and so copy, every page after a fork
    while True:
        try:
            request, fds = wire.receive(sock)
            wire.close_all(fds)
            serve(request, sock)
        except (wire.Closed, BrokenPipeError, ConnectionResetError):
            return


if __name__ == "__main__":
    main()
