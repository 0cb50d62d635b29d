# SPDX-License-Identifier: Apache-2.0
"""The forked process of one request: enter the jail, make the trials, write the answer."""

import json
import mmap
import os
import traceback

import torch

from . import devices, jail, loader, operators, shims, trials
from .errors import BadFile, is_memory

ALIGNMENT = 256
ARENA_BYTES_MAX = 1 << 30


def warm_up():
    """Work that every fork would otherwise repeat."""
    shims.install()
    devices.install()
    request = {"source": _SAMPLE, "name": "warm_up.py", "plan": "quick", "seed": "1",
               "nominal_only": False, "source_hash": ""}
    trials.Maker(request, (Arena(), Arena()), loader.Stage()).make()


_SAMPLE = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
dim = 8
class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.norm = nn.LayerNorm(dim)
    def forward(self, x):
        return torch.softmax(self.norm(x), -1) @ x.t() + self.conv(x[None, None])[0, 0].sum()
def get_inputs():
    return [torch.randn(dim, dim)]
def get_init_inputs():
    return [dim]
"""


class Arena:
    """Bytes of tensors, each at a multiple of 256; equal contents are kept once."""

    def __init__(self):
        self.parts = []
        self.known = {}
        self.size = 0

    def add_bytes(self, data):
        if not data:
            return 0
        at = self.known.get(data)
        if at is None:
            at = (self.size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
            if at + len(data) > ARENA_BYTES_MAX:
                raise BadFile(f"the trials need more than {ARENA_BYTES_MAX >> 20} MiB; make the "
                              "sizes smaller", "exhausted")
            self.known[data] = at
            self.parts.append((at, data))
            self.size = at + len(data)
        return at

    def add(self, tensor):
        return self.add_bytes(to_bytes(tensor.contiguous()))

    def add_view(self, tensor):
        """(place, bytes of the storage, strides, offset)."""
        if tensor.numel() == 0:
            strides = list(torch.empty(tensor.shape).stride())
            return 0, 0, strides, 0
        count = tensor.storage().size()
        if tensor.is_contiguous() or count > 4 * tensor.numel() + (1 << 16) and min(
                tensor.stride()) > 0:
            tensor = tensor.contiguous()
            data = to_bytes(tensor)
            return self.add_bytes(data), len(data), dense(tensor.shape), 0
        whole = torch.as_strided(tensor, (count,), (1,), 0)
        data = to_bytes(whole)
        return self.add_bytes(data), len(data), list(tensor.stride()), tensor.storage_offset()

    def write(self, fd):
        if self.size == 0:
            return
        with mmap.mmap(fd, self.size) as target:
            for at, data in self.parts:
                target[at:at + len(data)] = data


def dense(shape):
    """Row-major strides; PyTorch leaves those of size 1 to chance."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def to_bytes(tensor):
    if tensor.numel() == 0:
        return b""
    # copy_ rather than contiguous(): a dimension of size 1 may have any stride and still count as
    # contiguous, but such a tensor cannot be seen as bytes.
    flat = torch.empty(tensor.numel(), dtype=tensor.dtype).copy_(tensor.reshape(-1))
    return flat.view(torch.uint8).numpy().tobytes()


def answer(request, fds, page, layout):
    """The exit code of the process. 0 = there is an answer, which may be an error."""
    stage_number = [0]

    def report(stage):
        stage_number[0] = stage
        layout.pack_into(page, 0, stage, 0, 0, 0, 0)
    arenas = (Arena(), Arena())
    # Mapped before the limits apply; written at the end.
    reply_map = mmap.mmap(fds[0], os.fstat(fds[0]).st_size)
    jail.enter(request["memory_bytes"], request["timeout_ms"] // 1000 + 2)
    try:
        if request.get("operators"):
            document = operators.list_operators(
                loader.Source(request["source"], request["name"], loader.Stage(report)),
                request.get("sizes"))
        else:
            document = trials.Maker(request, arenas, loader.Stage(report)).make()
        report(loader.Stage.WRITE)
        for arena, fd in zip(arenas, fds[1:]):
            arena.write(fd)
    except BadFile as error:
        arenas = (Arena(), Arena())
        document = {"error": {"code": error.code, "message": str(error)}}
    except BaseException as error:  # memory, mostly; anything else is a bug that must be seen
        arenas = (Arena(), Arena())
        code = "exhausted" if is_memory(error) else "internal"
        document = {"error": {"code": code, "message": describe(error)}}
    data = json.dumps(document).encode()
    if len(data) > len(reply_map):
        data = json.dumps({"error": {"code": "exhausted", "message":
                                     "the trace of the file is too long"}}).encode()
        arenas = (Arena(), Arena())
    reply_map[:len(data)] = data
    reply_map.close()
    layout.pack_into(page, 0, stage_number[0], 1, len(data), arenas[0].size, arenas[1].size)
    return 0


def describe(error):
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(error).split())[:300]
    if is_memory(error):
        return f"making the trials needs more memory than the limit allows: {text}"
    return f"making the trials: {type(error).__name__}: {text}{place}"
