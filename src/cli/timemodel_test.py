# SPDX-License-Identifier: Apache-2.0
"""`kuafu bench timemodel` on a checkout of two tasks with made-up times.

    timemodel_test.py PROGRAM"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))

TASK = """import torch
import torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x){more}
def get_inputs():
    return [torch.rand({rows}, 4096)]
def get_init_inputs():
    return []
"""
HARDWARE = "NVIDIA H100 80GB HBM3"


class TimeModel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="kuafu-test-")
        self.addCleanup(self.folder.cleanup)
        self.root = os.path.join(self.folder.name, "bench")
        self.out = os.path.join(self.folder.name, "out")
        self.write("KernelBench/level1/1_Small.py", TASK.format(more="", rows=16384))
        self.write("KernelBench/level1/2_Large.py", TASK.format(more="", rows=65536))
        self.write("KernelBench/level1/3_Values.py", TASK.format(more=".nonzero()", rows=64))

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def times(self, hardware=HARDWARE):
        entry = {"std": 0, "hardware": hardware}
        level = {"1_Small.py": {"mean": 0.2, **entry}, "2_Large.py": {"mean": 0.8, **entry},
                 "3_Values.py": {"mean": 1.0, **entry}}
        self.write("results/timing/here/baseline_time_torch.json", json.dumps({"level1": level}))

    def run_program(self, *more):
        return subprocess.run([PROGRAM, "bench", "timemodel", f"--kernelbench={self.root}",
                               f"--output={self.out}", "--jobs=1", *more], capture_output=True,
                              text=True, timeout=250, check=False)

    def read(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return file.read()

    def test_tables_lines_and_a_plot(self):
        self.times()
        done = self.run_program()
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = {}
        for text in self.read("times.jsonl").splitlines():
            line = json.loads(text)
            lines[line["id"]] = line
            self.assertEqual(line["label"], "modelled")
            self.assertEqual(line["mode"], "eager")
            self.assertGreater(line["uncertainty"], 1)
        self.assertEqual(sorted(lines), ["level1/1_Small.py", "level1/2_Large.py"])
        # 512 MiB and 2 GiB at 3.35 TB/s and less.
        small, large = (lines[k]["modelled_ms"] for k in sorted(lines))
        self.assertGreater(small, 0.16)
        self.assertLess(small, 0.24)
        self.assertAlmostEqual(large / small, 4, delta=0.2)
        self.assertIn("h100, eager", done.stdout)
        self.assertIn("level1/3_Values.py: ", done.stdout)  # left out, with the reason
        self.assertEqual(done.stdout, self.read("summary.md"))
        self.assertIn("<circle", self.read("scatter.svg"))
        # Again: the same, without asking PyTorch.
        before = self.read("operators.jsonl")
        again = self.run_program()
        self.assertEqual(again.stdout, done.stdout)
        self.assertEqual(self.read("operators.jsonl"), before)
        fit = self.run_program("--fit")
        self.assertEqual(fit.returncode, 0, fit.stderr)
        self.assertIn("CONSTANT(h100_bandwidth, ", self.read("constants.def"))
        for text in self.read("fit.jsonl").splitlines():
            self.assertEqual(json.loads(text)["part"], "fitted")

    def test_a_gpu_without_a_profile_is_named_and_not_judged(self):
        self.times("NVIDIA GeForce 256")
        done = self.run_program()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("NVIDIA GeForce 256", done.stdout)
        self.assertEqual(self.read("times.jsonl"), "")

    def test_a_checkout_without_times_says_what_is_missing(self):
        os.makedirs(os.path.join(self.root, "results/timing"))
        done = self.run_program()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("baseline_time_torch.json", done.stderr)

    def test_two_checkouts_are_judged_one_after_the_other(self):
        self.times()
        done = self.run_program("--cuda-l1=" + os.path.join(self.root, "absent"))
        self.assertIn("h100, eager", self.read("kernelbench/summary.md"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("absent", done.stderr)


if __name__ == "__main__":
    unittest.main()
