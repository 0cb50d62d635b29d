#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sources for load() are written in many ways; each must end where load() looks, none on a disk.

  files_test.py
"""
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from kuafu_candidate import files  # the path is known only now

open_real = open
files.install()
open_mine = files.opener(open_real)


class Files(unittest.TestCase):
    def test_sources_written_by_pathlib_can_be_loaded(self):
        folder = pathlib.Path(tempfile.gettempdir()) / "no_such_folder_of_a_candidate"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "kernel.cu"
        self.assertFalse(path.exists())
        path.write_text("__global__ void f() {}")
        self.assertEqual(files.written[str(path)], "__global__ void f() {}")
        self.assertTrue(path.exists() and path.is_file())
        self.assertTrue(os.path.exists(path) and os.path.isfile(path))
        self.assertEqual(path.read_text(), "__global__ void f() {}")
        with path.open("w") as file:
            file.write("other")
        self.assertEqual(files.written[str(path)], "other")
        path.write_bytes(b"bytes")
        self.assertEqual(files.written[str(path)], "bytes")
        self.assertFalse(os.access(folder, os.F_OK))

    def test_sources_in_named_temporary_files_are_there_after_a_flush(self):
        with tempfile.NamedTemporaryFile("w", suffix=".cu", delete=False) as file:
            file.write("text")
            file.flush()
            self.assertEqual(files.written[file.name], "text")
            self.assertTrue(file.name.endswith(".cu"))
        with tempfile.NamedTemporaryFile(suffix=".cpp") as second:
            second.write(b"bytes")
            second.flush()
            self.assertEqual(files.written[second.name], "bytes")
            self.assertNotEqual(second.name, file.name)
        self.assertFalse(os.access(file.name, os.F_OK))

    def test_sources_written_as_bytes_can_be_loaded(self):
        with open_mine("/tmp/no_such_folder_of_a_candidate/bytes.cu", "wb") as file:
            file.write(b"text")
        self.assertEqual(files.written["/tmp/no_such_folder_of_a_candidate/bytes.cu"], "text")

    def test_other_files_are_read_as_they_are(self):
        self.assertIn("SPDX", pathlib.Path(__file__).read_text(encoding="utf-8"))
        self.assertFalse(pathlib.Path("/no/such/file.cu").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
