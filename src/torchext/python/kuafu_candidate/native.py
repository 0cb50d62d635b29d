# SPDX-License-Identifier: Apache-2.0
"""The C functions of bridge.cpp. Whatever goes wrong there is raised as Failed, with the reason."""

import ctypes
import json

_lib = None


class Failed(Exception):
    """A message of the other side of the bridge."""


def open_library(path):
    """`path`: of libkuafu_torch.so, which the process must have been started with (LD_PRELOAD)."""
    global _lib
    _lib = ctypes.CDLL(path)
    pointers = ctypes.POINTER(ctypes.c_void_p)
    for name, result, arguments in (
            ("error", ctypes.c_char_p, []),
            ("open", None, [ctypes.c_int32]),
            ("send", ctypes.c_char_p,
             [ctypes.c_char_p, ctypes.POINTER(ctypes.c_int32), ctypes.c_int32]),
            ("receive", ctypes.c_char_p, []),
            ("take_fd", ctypes.c_int32, [ctypes.c_int32]),
            ("start", ctypes.c_char_p, [ctypes.c_char_p]),
            ("forget", None, []),
            ("sandbox", ctypes.c_char_p, []),
            ("begin", None, [ctypes.c_char_p, ctypes.c_char_p]),
            ("on_device", ctypes.c_int32, [ctypes.c_void_p]),
            ("name", None, [ctypes.c_void_p, ctypes.c_char_p]),
            ("operated", None, [ctypes.c_char_p, ctypes.c_int32, pointers, ctypes.c_int32,
                                pointers, ctypes.c_int32]),
            ("load", ctypes.c_char_p, [ctypes.c_char_p]),
            ("call", ctypes.c_char_p, [ctypes.c_int32, ctypes.c_int32, ctypes.c_char_p]),
            ("export", ctypes.c_void_p, [ctypes.c_uint64]),
            ("release", None, [ctypes.c_uint64]),
            ("answer", ctypes.c_char_p, [ctypes.c_char_p]),
            ("stopped", ctypes.c_int32, []),
            ("work", ctypes.c_char_p, []),
            ("counters", ctypes.c_char_p, []),
            ("zero", None, [ctypes.c_void_p])):
        function = getattr(_lib, "kuafu_host_" + name)
        function.restype, function.argtypes = result, arguments
        globals()["_" + name] = function
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    globals()["_capsule"] = capsule
    globals()["allocate_on_device"] = ctypes.c_int.in_dll(_lib, "kuafu_allocate_on_device")
    globals()["keep_freed_blocks"] = ctypes.c_int.in_dll(_lib, "kuafu_keep_freed_blocks")
    globals()["on_device"] = _on_device
    globals()["stopped"] = _stopped
    globals()["release"] = _release
    globals()["forget"] = _forget


def _text(value):
    if value is None:
        raise Failed(_error().decode("utf-8", "replace"))
    return value.decode("utf-8", "replace")


def _ask(function, document):
    return json.loads(_text(function(json.dumps(document).encode())))


def open_channel(fd):
    _open(fd)


def send(document, fds=()):
    _text(_send(json.dumps(document).encode(), (ctypes.c_int32 * len(fds))(*fds), len(fds)))


def receive():
    """(document, descriptors)"""
    document = json.loads(_text(_receive()))
    fds = []
    while (fd := _take_fd(len(fds))) >= 0:
        fds.append(fd)
    return document, fds


def start(options):
    _ask(_start, options)


def enter_sandbox():
    return json.loads(_text(_sandbox()))


def begin(order_seed, sampling=None):
    """`sampling`: of a trial of which not every block has to be executed."""
    _begin(order_seed.encode(), json.dumps(sampling).encode())


def set_name(address, name):
    _name(address, name.encode())


def operated(name, kind, read, written):
    """`read` and `written`: addresses of storages."""
    _operated(name, kind, (ctypes.c_void_p * len(read))(*read), len(read),
              (ctypes.c_void_p * len(written))(*written), len(written))


def load(job):
    return _ask(_load, job)


def call(extension, function, arguments):
    return json.loads(_text(_call(extension, function, json.dumps(arguments).encode())))


def capsule(handle):
    """For torch.utils.dlpack.from_dlpack: the storage of a result, flat."""
    return _capsule(_export(handle), b"dltensor", None)


def work():
    """Of a session with counts_only: what the device was asked to do since the last call."""
    return json.loads(_text(_work()))


def counters():
    """Of its launches, by number."""
    return json.loads(_text(_counters()))


def zero(address):
    """Zeros in place of the pattern."""
    _zero(address)


def answer(outcome):
    _ask(_answer, outcome)
