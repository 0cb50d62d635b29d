# SPDX-License-Identifier: Apache-2.0
"""Files that a candidate writes so that load() can read them exist in memory only: its process may
not write any."""

import io
import os
import pathlib
import tempfile


class _Written(io.StringIO):
    def __init__(self, path, text=""):
        super().__init__(text)
        self.path = self.name = path
        self.seek(0, io.SEEK_END)

    def flush(self):
        written[self.path] = self.getvalue()

    def close(self):
        if not self.closed:
            self.flush()
        super().close()


class _WrittenBytes(io.BytesIO):
    def __init__(self, path):
        super().__init__()
        self.path = self.name = path

    def flush(self):
        written[self.path] = self.getvalue().decode(errors="replace")

    def close(self):
        if not self.closed:
            self.flush()
        super().close()


written = {}  # path -> text


def opener(real_open):
    """A replacement of open()."""
    def open_in_memory(file, mode="r", *args, **kwargs):
        path = os.path.normpath(os.fspath(file)) if not isinstance(file, int) else None
        if path is not None and "b" not in mode:
            if any(c in mode for c in "wax+"):
                return _Written(path, written.get(path, "") if "a" in mode else "")
            if path in written:
                return io.StringIO(written[path])
        if path is not None and "w" in mode:
            return _WrittenBytes(path)
        return real_open(file, mode, *args, **kwargs)
    return open_in_memory


def _install_pathlib():
    """write_text and read_text go through open."""
    open_in_memory = opener(io.open)

    def open_path(self, mode="r", *args, **kwargs):
        return open_in_memory(self, mode, *args, **kwargs)

    def known_or(real):
        return lambda self: os.path.normpath(self) in written or real(self)
    pathlib.Path.open = open_path
    pathlib.Path.write_bytes = lambda self, data: self.write_text(bytes(data).decode())
    for name in ("exists", "is_file"):
        setattr(pathlib.Path, name, known_or(getattr(pathlib.Path, name)))


def install():
    """Once in a process."""
    _install_pathlib()
    directories = [0]

    def make_directory(*args, **kwargs):
        directories[0] += 1
        return f"/tmp/candidate-{directories[0]}"
    tempfile.mkdtemp = make_directory
    tempfile.gettempdir = lambda: "/tmp"

    class TemporaryDirectory:
        def __init__(self, *args, **kwargs):
            self.name = make_directory()

        def __enter__(self):
            return self.name

        def __exit__(self, *error):
            return False

        def cleanup(self):
            pass
    tempfile.TemporaryDirectory = TemporaryDirectory

    def named_file(mode="w+b", *args, suffix=None, prefix=None, dir=None, **kwargs):
        path = f"{dir or make_directory()}/{prefix or 'tmp'}{suffix or ''}"
        return _WrittenBytes(path) if "b" in mode else _Written(path)
    tempfile.NamedTemporaryFile = named_file
    os.makedirs = os.mkdir = lambda *a, **k: None
    for name in ("exists", "isfile"):
        real = getattr(os.path, name)
        setattr(os.path, name, lambda path, real=real:
                os.path.normpath(os.fspath(path)) in written or real(path))
