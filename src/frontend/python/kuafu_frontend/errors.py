# SPDX-License-Identifier: Apache-2.0
"""Errors in the terms of the author of a reference file."""

import re
import traceback

TEXT_MAX = 600


class BadFile(Exception):
    """The file is at fault. `code` is a name of kuafu::Code."""

    def __init__(self, message, code="invalid_input"):
        super().__init__(message[:TEXT_MAX])
        self.code = code


def is_memory(error):
    text = str(error)
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError)
        and ("allocate memory" in text or "Storage size calculation overflowed" in text
             or "numel: integer multiplication overflow" in text))


def _line(error, file_name):
    """The last line of the user's file in the traceback."""
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == file_name:
            line = number
    return line


def explain(error, doing, file_name):
    """A BadFile for whatever the file's code has raised."""
    if isinstance(error, BadFile):
        return error
    if isinstance(error, SyntaxError) and error.filename == file_name:
        return BadFile(f"line {error.lineno}: syntax error: {error.msg}")
    line = _line(error, file_name)
    place = f"line {line}: " if line else ""
    text = re.sub(r"\s+", " ", str(error)).strip()
    if is_memory(error):
        return BadFile(f"{doing}: {place}needs more memory than the limit allows: {text}; "
                       "make the sizes smaller", "exhausted")
    if isinstance(error, ModuleNotFoundError):
        return BadFile(f"{doing}: {place}the Python package {error.name!r} is not installed; "
                       "a reference may use PyTorch and the standard library")
    if isinstance(error, SystemExit):
        return BadFile(f"{doing}: {place}the file calls exit")
    if isinstance(error, KeyboardInterrupt):
        return BadFile(f"{doing}: {place}the file raises KeyboardInterrupt")
    if isinstance(error, RecursionError):
        return BadFile(f"{doing}: {place}recursion without end")
    if "CUDA" in text or "NVIDIA" in text:
        text += ("; a reference runs on the CPU, where only .cuda(), .to() and device arguments "
                 "are followed")
    return BadFile(f"{doing}: {place}{type(error).__name__}: {text}")
