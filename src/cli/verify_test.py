#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`kuafu verify` as its users see it: verdicts that follow the schema, exit codes, batches.

  verify_test.py KUAFU
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples")
KUAFU = sys.argv.pop(1)


def example(name):
    return os.path.join(EXAMPLES, name)


def kuafu(*arguments):
    return subprocess.run([KUAFU, *arguments], capture_output=True, text=True, timeout=120,
                          check=False)


class Verify(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "docs/verdict.schema.json"), encoding="utf-8") as file:
            cls.schema = json.load(file)

    def verdict(self, reference, kernel, *arguments, code):
        run = kuafu("verify", reference, kernel, "--json", *arguments)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        verdict = json.loads(run.stdout)
        jsonschema.validate(verdict, self.schema)
        return verdict

    def test_a_right_kernel_passes(self):
        verdict = self.verdict(example("softmax/ref.py"), example("softmax/softmax.cu"),
                               "--target=sim:h100", code=0)
        self.assertEqual(verdict["class"], "pass")
        self.assertEqual(verdict["gates"]["sanitize"]["status"], "passed")
        self.assertEqual(verdict["trials_passed"], verdict["trials_total"])
        self.assertGreaterEqual(verdict["trials_total"], 7)

    def test_a_right_kernel_is_compared_with_pytorch_at_the_same_sizes(self):
        verdict = self.verdict(example("softmax/ref.py"), example("softmax/softmax.cu"),
                               "--target=sim:h100", code=0)
        speed = verdict["speed"]
        self.assertTrue(speed["known"], speed["why"])
        self.assertEqual((speed["label"], speed["sizes"]), ("modelled", "as written"))
        self.assertAlmostEqual(speed["speedup"], speed["eager_ms"] / speed["kernel_ms"], places=6)
        self.assertEqual(verdict["reward"]["speedup"], speed["speedup"])
        # 64 blocks and 256 KiB: nothing but the launch. So is PyTorch's one.
        self.assertEqual(speed["binds"], "launch")
        self.assertGreater(speed["kernel_uncertainty"], 1)
        self.assertIn("eager PyTorch", verdict["gates"]["speed"]["evidence"])
        verdict = self.verdict(example("softmax/ref.py"), example("softmax/softmax.cu"),
                               "--target=sim:h100", "--no-speed", code=0)
        self.assertIsNone(verdict["speed"])
        self.assertIsNone(verdict["reward"]["speedup"])

    def test_scaled_sizes_give_no_reward_for_speed(self):
        with tempfile.TemporaryDirectory() as folder:
            reference = os.path.join(folder, "ref.py")
            with open(example("softmax/ref.py"), encoding="utf-8") as file:
                text = file.read()
            with open(reference, "w", encoding="utf-8") as file:
                file.write(text.replace("batch_size = 64", "batch_size = 8192"))
            verdict = self.verdict(reference, example("softmax/softmax.cu"), "--target=sim:h100",
                                   code=0)
            self.assertEqual(verdict["speed"]["sizes"], "scaled")
            self.assertIsNone(verdict["reward"]["speedup"])
            verdict = self.verdict(reference, example("softmax/softmax.cu"), "--target=sim:h100",
                                   "--nominal", code=0)
            speed = verdict["speed"]
            self.assertEqual(speed["sizes"], "as written", verdict["notes"])
            # 32 MiB to read and to write, at 3.35 TB/s.
            self.assertGreater(speed["kernel_ms"], 0.02)
            self.assertGreater(speed["eager_ms"], 0.01)
            self.assertLess(speed["floor_ms"], speed["kernel_ms"])
            self.assertEqual(verdict["reward"]["speedup"], speed["speedup"])

    def test_a_race_names_line_threads_and_a_reproducer_that_reproduces(self):
        kernel = example("softmax/softmax_race.cu")
        verdict = self.verdict(example("softmax/ref.py"), kernel, code=1)
        self.assertEqual(verdict["class"], "race")
        with open(kernel, encoding="utf-8") as file:
            marked = [n for n, line in enumerate(file, 1) if "EXPECT: race" in line]
        finding = verdict["findings"][0]
        self.assertIn(marked[0], (finding["line"], finding["other_line"]))
        self.assertTrue(finding["thread"] and finding["other_thread"], finding)
        self.assertIn("a plain allclose(1e-4) at the nominal shape accepts this kernel",
                      verdict["notes"])
        again = kuafu(*verdict["reproducer"].split()[1:], "--json")
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertEqual(json.loads(again.stdout)["class"], "race")

    def test_the_same_seed_gives_the_same_verdict(self):
        def once():
            verdict = self.verdict(example("hardswish/ref.py"),
                                   example("hardswish/hardswish_tail.cu"), "--seed=5", code=1)
            for key in ("compile_ms", "run_ms", "total_ms"):
                del verdict[key]
            return verdict
        self.assertEqual(once(), once())

    def test_one_trial_is_that_trial(self):
        """As the line says that reproduces a verdict."""
        right, race = example("softmax/softmax.cu"), example("softmax/softmax_race.cu")
        for kernel, passes in ((right, True), (race, False)):
            run = kuafu("verify", example("softmax/ref.py"), kernel, "--target=sim:h100",
                        "--seed=7", "--trial=2", "--json")
            verdict = json.loads(run.stdout)
            self.assertEqual(verdict["pass"], passes, verdict["summary"])
            self.assertEqual(verdict["trials_total"], 1)
            if not passes:
                self.assertIn("--trial=2", verdict["reproducer"])

    def test_usage_errors_are_not_verdicts(self):
        reference, kernel = example("softmax/ref.py"), example("softmax/softmax.cu")
        self.assertEqual(kuafu("verify").returncode, 2)
        self.assertEqual(kuafu("verify", reference).returncode, 2)
        self.assertEqual(kuafu("verify", reference, "missing.cu").returncode, 2)
        self.assertEqual(kuafu("verify", "missing.py", kernel).returncode, 2)
        self.assertEqual(kuafu("verify", reference, "README.md").returncode, 2)
        self.assertEqual(kuafu("verify", reference, kernel, "--target=sim:none").returncode, 2)
        self.assertEqual(kuafu("verify", reference, kernel, "--trial=999").returncode, 2)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "no_module.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("answer = 42\n")
            no_module = kuafu("verify", path, kernel)
        self.assertEqual(no_module.returncode, 2, no_module.stderr)
        self.assertIn("Model", no_module.stderr)

    def test_a_compile_error_quotes_the_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "broken.cu")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#include <torch/extension.h>\n"
                           "torch::Tensor f(torch::Tensor x) { return y; }\n")
            verdict = self.verdict(example("softmax/ref.py"), path, code=1)
            self.assertEqual(verdict["class"], "compile_error")
            self.assertIn("broken.cu:2:", verdict["gates"]["compile"]["evidence"])

    def test_a_candidate_in_a_fenced_block_keeps_its_line_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "answer.cu")
            with open(path, "w", encoding="utf-8") as file:
                file.write("Here it is:\n```cpp\n#include <torch/extension.h>\n"
                           "torch::Tensor f(torch::Tensor x) { return y; }\n```\n")
            verdict = self.verdict(example("softmax/ref.py"), path, code=1)
            self.assertIn("answer.cu:4:", verdict["gates"]["compile"]["evidence"])


class Batch(unittest.TestCase):
    def test_results_stream_and_a_second_run_resumes(self):
        with tempfile.TemporaryDirectory() as folder:
            listing, output = os.path.join(folder, "list"), os.path.join(folder, "out")
            jobs = [{"id": name, "reference": example("softmax/ref.py"),
                     "kernel": example(f"softmax/{name}")}
                    for name in ("softmax.cu", "softmax_race.cu", "softmax.mu")]
            jobs.append({"id": "bad", "reference": example("softmax/none.py"),
                         "kernel": example("softmax/softmax.cu")})
            with open(listing, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(job) + "\n" for job in jobs)
            run = kuafu("verify", "--batch", listing, "-o", output, "--target=sim:h100")
            self.assertEqual(run.returncode, 1, run.stderr)
            with open(output, encoding="utf-8") as file:
                lines = file.read().splitlines()
            results = {result["id"]: result for result in map(json.loads, lines)}
            self.assertEqual(results["softmax.cu"]["verdict"]["class"], "pass")
            self.assertEqual(results["softmax.mu"]["verdict"]["class"], "pass")
            self.assertEqual(results["softmax_race.cu"]["verdict"]["class"], "race")
            self.assertEqual(results["bad"]["error"]["code"], "invalid_input")
            # A result is lost and the last line was cut: both are done again, nothing else is.
            with open(output, "w", encoding="utf-8") as file:
                file.write("\n".join(lines[:2]) + "\n" + lines[2][:40])
            run = kuafu("verify", "--batch", listing, "-o", output, "--target=sim:h100")
            with open(output, encoding="utf-8") as file:
                again = file.read().splitlines()
            self.assertEqual(again[:2], lines[:2])
            self.assertEqual(len(again), 5, again)
            self.assertEqual({json.loads(line)["id"] for line in again[3:]},
                             {json.loads(line)["id"] for line in lines[2:]})

    def test_a_source_that_comes_again_is_not_compiled_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "list.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                for name in ("first", "again"):
                    file.write(json.dumps({"id": name, "reference": example("softmax/ref.py"),
                                           "kernel": example("softmax/softmax.cu"),
                                           "seed": 7}) + "\n")
            run = kuafu("verify", "--batch", path, "--threads=1")
            self.assertEqual(run.returncode, 0, run.stderr)
            first, again = (json.loads(line)["verdict"] for line in run.stdout.splitlines())
            self.assertGreater(first["compile_ms"], 0)
            self.assertEqual(again["compile_ms"], 0)
            self.assertEqual(first["gates"], again["gates"])

    def test_a_bad_list_names_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            listing = os.path.join(folder, "list")
            with open(listing, "w", encoding="utf-8") as file:
                file.write('{"id": "a", "reference": "r.py", "kernel": "k.cu"}\n{"id": 3}\n')
            run = kuafu("verify", "--batch", listing)
            self.assertEqual(run.returncode, 2)
            self.assertIn("line 2", run.stderr)


if __name__ == "__main__":
    unittest.main()
