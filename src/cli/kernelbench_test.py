#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`kuafu bench kernelbench` over a checkout of three small tasks: one that shrinks, one that is
broken, one that is zero by algebra; killed in the middle and started again.

  kernelbench_test.py KUAFU
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "testdata/kernelbench")
KUAFU = sys.argv.pop(1)


def command(output, *arguments):
    return [KUAFU, "bench", "kernelbench", f"--root={ROOT}", f"--output={output}", *arguments]


def bench(output, *arguments):
    return subprocess.run(command(output, *arguments), capture_output=True, text=True, timeout=400,
                          check=False)


def lines(output, name):
    with open(os.path.join(output, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


class KernelBench(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.output = os.path.join(self.folder.name, "out")

    def tearDown(self):
        self.folder.cleanup()

    def test_a_broken_task_is_listed_and_stops_nothing(self):
        run = bench(self.output, "--levels=1,2")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)  # one task is broken
        tasks = {line["id"]: line for line in lines(self.output, "tasks.jsonl")}
        self.assertEqual(len(tasks), 3)
        square = tasks["level1/1_Square_.py"]
        self.assertEqual(square["status"], "ready")
        self.assertEqual(square["trials"], 9)
        self.assertTrue([n for n in square["notes"] if "batch_size 65536 to" in n])
        self.assertEqual(tasks["level1/2_Broken.py"]["code"], "invalid_input")
        self.assertIn("no_such_method", tasks["level1/2_Broken.py"]["reason"])
        zero = tasks["level2/1_Linear_Zero.py"]
        self.assertEqual(zero["audit"]["standing"], "degenerate")
        with open(os.path.join(self.output, "summary.md"), encoding="utf-8") as file:
            summary = file.read()
        self.assertEqual(summary, run.stdout)
        self.assertIn("level1/2_Broken.py: invalid_input", summary)
        self.assertIn("level2/1_Linear_Zero.py | zeros", summary)

    def test_killed_in_the_middle_it_goes_on_without_loss_or_repetition(self):
        started = subprocess.Popen(command(self.output, "--levels=1,2", "--jobs=1"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        path = os.path.join(self.output, "tasks.jsonl")
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline and started.poll() is None and not (
                os.path.exists(path) and os.path.getsize(path)):
            time.sleep(0.02)
        started.kill()
        started.wait()
        before = len(lines(self.output, "tasks.jsonl"))
        self.assertGreaterEqual(before, 1)
        with open(path, "a", encoding="utf-8") as file:
            file.write('{"id": "level2/1_Lin')  # a write that was cut
        run = bench(self.output, "--levels=1,2")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        with open(path, encoding="utf-8") as file:
            whole = [line for line in file if line.endswith("}\n")]
        ids = [json.loads(line)["id"] for line in whole]
        self.assertEqual(len(ids), 3)
        self.assertEqual(len(set(ids)), 3)

    def test_an_interruption_has_its_exit_code(self):
        started = subprocess.Popen(command(self.output, "--levels=1,2", "--jobs=1"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        path = os.path.join(self.output, "tasks.jsonl")
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline and started.poll() is None and not (
                os.path.exists(path) and os.path.getsize(path)):
            time.sleep(0.02)
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate(timeout=300)
        self.assertEqual(started.returncode, 5, errors)
        self.assertIn("goes on where it stopped", errors)

    def test_candidates_are_found_judged_and_counted(self):
        candidates = f"--candidates={ROOT}/candidates"
        run = bench(self.output, "--levels=1", candidates, "--target=sim:h100")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        verdicts = {line["id"]: line["verdict"] for line in lines(self.output, "verdicts.jsonl")}
        self.assertEqual(verdicts["level_1_problem_1_sample_0_kernel"]["class"], "pass")
        # Right for the inputs of the benchmark, which are all positive.
        self.assertEqual(verdicts["level_1_problem_1_sample_1_kernel"]["class"], "wrong_result")
        self.assertIn("| 1 | 2 | 2 | 0 | 50.0 % | 50.0 % |", run.stdout)
        self.assertIn("unknown", run.stdout)
        compat = bench(self.output, "--levels=1", candidates, "--compat=kernelbench")
        verdicts = {line["id"]: line["verdict"]
                    for line in lines(self.output, "verdicts-kernelbench.jsonl")}
        self.assertEqual(verdicts["level_1_problem_1_sample_1_kernel@kernelbench"]["class"], "pass")
        self.assertIn("KernelBench's own", compat.stdout)

    def test_what_can_be_checked_is_checked_first(self):
        for arguments in (["--levels=5"], ["--levels=x"], ["--levels=3"], ["--target=sim:nothing"],
                          ["--levels=1", "--candidates=/nonexistent"], ["--jobs=0"]):
            run = bench(self.output, *arguments)
            self.assertEqual(run.returncode, 2, (arguments, run.stderr))
            self.assertFalse(os.path.exists(os.path.join(self.output, "tasks.jsonl")))


if __name__ == "__main__":
    unittest.main()
