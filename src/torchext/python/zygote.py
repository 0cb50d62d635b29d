# SPDX-License-Identifier: Apache-2.0
"""Imports PyTorch once and forks for every extension candidate. Started with libkuafu_torch.so
preloaded and a channel as descriptor 3:
  zygote.py LIBRARY
  -> {"cpu_s", ...what child.run needs} with [a channel for the child, a pipe]
The child speaks to the parent over its channel; {"pid"} and, when it has ended, {"signal"} or
{"exit_code"} are written to the pipe. Closing the pipe's other end kills the child: how long it may
run is for the parent to say. The first frame is {"ready": true, "torch"} or {"ready": false,
"error"}."""

import ctypes
import gc
import json
import os
import resource
import select
import signal
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from kuafu_candidate import native, pages  # noqa: E402

CONTROL_FD = 3
THREADS_MAX = 512
MAPPED_BYTES_MAX = 1 << 40  # of one whose memory costs nothing until it is touched
MEMORY_BYTES_MAX = 8 << 30  # of a child, beyond what it has from here; the device's are in it
_PR_SET_PDEATHSIG = 1
_written = ()  # ranges of memory


def run_child(request, channel):
    """Never returns."""
    code = 1
    try:
        pages.copy(_written)
        os.setsid()
        native.open_channel(channel)  # closes the zygote's
        null = os.open("/dev/null", os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.close(null)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        with open("/proc/self/statm", encoding="ascii") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        most = MAPPED_BYTES_MAX if request.get("timing") else MEMORY_BYTES_MAX
        for kind, most in ((resource.RLIMIT_CORE, 0),
                           (resource.RLIMIT_AS, mapped + most),
                           (resource.RLIMIT_NPROC, THREADS_MAX)):
            resource.setrlimit(kind, (most, most))
        # A second between SIGXCPU and SIGKILL: the parent can then tell what it was.
        resource.setrlimit(resource.RLIMIT_CPU, (request["cpu_s"], request["cpu_s"] + 1))
        from kuafu_candidate import child
        child.run(request)
        code = 0
    except BaseException as error:  # a defect of this side: the parent has to know
        import traceback
        try:
            native.send({"infra": f"{type(error).__name__}: {error}",
                         "where": traceback.format_exc()[-2000:]})
        except BaseException:
            pass
    finally:
        os._exit(code)


def frame(document):
    """What os::Channel reads: a length and that many bytes."""
    data = json.dumps(document).encode()
    return struct.pack("<I", len(data)) + data


class Child:
    def __init__(self, pid, pipe):
        self.pid, self.pipe = pid, pipe
        self.pidfd = os.pidfd_open(pid)
        self.tell({"pid": pid})

    def tell(self, document):
        try:
            os.write(self.pipe, frame(document))
        except OSError:
            pass

    def kill(self):
        for target in (-self.pid, self.pid):
            try:
                os.kill(target, signal.SIGKILL)
            except OSError:
                pass

    def reap(self):
        _, status = os.waitpid(self.pid, 0)
        self.kill()  # what it may have started
        self.tell({"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else
                  {"exit_code": os.WEXITSTATUS(status)})
        os.close(self.pipe)
        os.close(self.pidfd)


def serve():
    children = {}  # by descriptor of the process
    poll = select.poll()
    poll.register(CONTROL_FD, select.POLLIN)

    def forget(fd):
        child = children.pop(fd)
        poll.unregister(fd)
        try:
            poll.unregister(child.pipe)
        except KeyError:
            pass  # its other end was closed
        return child

    while True:
        events = poll.poll()
        # As they are now: a process that has ended and the other end of its pipe may be reported in
        # the same round, and the number of a descriptor that was closed in it comes back at once.
        processes, pipes = dict(children), {c.pipe: c for c in children.values()}
        for fd, event in events:
            if fd == CONTROL_FD:
                try:
                    request, fds = native.receive()
                except native.Failed:
                    for child in children.values():
                        child.kill()
                    return
                channel, pipe = fds
                pid = os.fork()
                if pid == 0:
                    os.close(pipe)
                    run_child(request, channel)
                os.close(channel)
                child = Child(pid, pipe)
                children[child.pidfd] = child
                poll.register(child.pidfd, select.POLLIN)
                poll.register(pipe, 0)
            elif fd in processes:
                forget(fd).reap()
            elif fd in pipes and event & (select.POLLERR | select.POLLHUP):
                if children.get(pipes[fd].pidfd) is pipes[fd]:
                    pipes[fd].kill()
                    poll.unregister(fd)


def main():
    native.open_library(sys.argv[1])
    native.open_channel(CONTROL_FD)
    try:
        import torch
        torch.set_num_threads(1)  # before any operation: a fork after a threaded one hangs
        from kuafu_candidate import child
        child.warm_up()
    except Exception as error:  # whatever an incomplete installation does
        native.send({"ready": False, "error": f"{type(error).__name__}: {error}"[:500]})
        return
    gc.collect()
    gc.freeze()  # the collector would otherwise touch, and so copy, every page after a fork
    global _written
    _written = pages.learn(child.rehearse)
    native.send({"ready": True, "torch": torch.__version__})
    serve()


if __name__ == "__main__":
    main()
