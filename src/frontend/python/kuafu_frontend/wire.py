# SPDX-License-Identifier: Apache-2.0
"""Frames of src/os/channel.h: a 4-byte little-endian length and that many bytes of JSON; file
descriptors travel with the first byte of the length."""

import array
import json
import os
import socket
import struct

FRAME_BYTES_MAX = 64 << 20
FDS_MAX = 16


class Closed(Exception):
    """The other process has gone."""


def _read(sock, count):
    parts = []
    while count > 0:
        part = sock.recv(min(count, 1 << 20))
        if not part:
            raise Closed()
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def receive(sock):
    """One frame as (document, descriptors). Blocks."""
    room = socket.CMSG_SPACE(FDS_MAX * 4)
    first, ancillary, _, _ = sock.recvmsg(1, room)
    if not first:
        raise Closed()
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % 4])
    (length,) = struct.unpack("<I", first + _read(sock, 3))
    if length > FRAME_BYTES_MAX:
        raise Closed()
    return json.loads(_read(sock, length)), list(fds)


def send(sock, document, fds=()):
    data = json.dumps(document).encode()
    data = struct.pack("<I", len(data)) + data
    control = []
    if fds:
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
    sent = sock.sendmsg([data], control)
    while sent < len(data):
        sent += sock.send(data[sent:])


def close_all(fds):
    for fd in fds:
        try:
            os.close(fd)
        except OSError:
            pass
