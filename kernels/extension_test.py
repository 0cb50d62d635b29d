#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Honest candidates in extension form, all of kernels/extension: each is right and breaks no rule, so a
refusal is a defect of the verifier. Judged with the sanitizer, with 32 and with 128 lanes to a warp.

  extension_test.py KUAFU
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

KUAFU = sys.argv.pop(1)
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "extension")
TARGET = "sim:h100,sim:mtt-s4000"


def candidates():
    for name in sorted(os.listdir(FOLDER)):
        folder = os.path.join(FOLDER, name)
        if not os.path.isfile(os.path.join(folder, "ref.py")):
            continue
        for file in sorted(os.listdir(folder)):
            if file.startswith("candidate") and file.endswith(".py"):
                yield {"id": f"{name}/{file}", "reference": os.path.join(folder, "ref.py"),
                       "kernel": os.path.join(folder, file), "target": TARGET}


class Honest(unittest.TestCase):
    def test_what_is_honest_and_right_passes(self):
        listed = list(candidates())
        self.assertGreaterEqual(len(listed), 22)
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.writelines(json.dumps(row) + "\n" for row in listed)
            file.flush()
            start = time.monotonic()
            run = subprocess.run([KUAFU, "verify", "--batch", file.name, "--threads=2"],
                                 capture_output=True, text=True, timeout=570, check=False)
        answers = {}
        for line in run.stdout.splitlines():
            answer = json.loads(line)
            answers[answer["id"]] = answer.get("verdict", answer)
        self.assertEqual(set(answers), {row["id"] for row in listed}, run.stderr)
        for name, verdict in answers.items():
            with self.subTest(name):
                self.assertEqual(verdict.get("class"), "pass", verdict.get("summary", verdict))
        print(f"{len(answers)} candidates in {time.monotonic() - start:.1f} s")

    def test_the_index_names_every_folder(self):
        with open(os.path.join(FOLDER, "index.json"), encoding="utf-8") as file:
            named = [row["name"] for row in json.load(file)]
        folders = {row["id"].split("/")[0] for row in candidates()}
        self.assertEqual(sorted(named), sorted(folders))


if __name__ == "__main__":
    unittest.main(verbosity=2)
