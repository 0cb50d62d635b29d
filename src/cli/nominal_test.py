#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Candidates that hard-code the sizes of their task, at sizes at which not every block is executed:
what is right passes, what is wrong where somebody looks fails, and what nobody can tell is no pass.

  nominal_test.py KUAFU
"""
import json
import subprocess
import sys
import tempfile
import unittest

KUAFU = sys.argv.pop(1)

# 12500 blocks of 256 threads, the last one with 64 to spare; 1.6e9 lane instructions.
REFERENCE = """
import torch
import torch.nn as nn
rows = 49999
columns = 64
class Model(nn.Module):
    def forward(self, x, w):
        return torch.matmul(x, w)
def get_inputs():
    return [torch.randn(rows, columns), torch.randn(columns, columns)]
def get_init_inputs():
    return []
"""
RELU = REFERENCE.replace("torch.matmul(x, w)", "torch.relu(torch.matmul(x, w))")

MATMUL = """
constexpr int kRows = 49999, kColumns = 64, kCount = kRows * kColumns, kBlocks = 12500;
__global__ void mm(const float* x, const float* w, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kCount) return;
  int row = ROW, column = i % kColumns;
  float sum = 0;
  for (int k = 0; k < kColumns; ++k) sum += x[row * kColumns + k] * w[k * kColumns + column];
  STORE
}
"""
RIGHT = MATMUL.replace("ROW", "i / kColumns").replace("STORE", "y[i] = sum;")
ENTRY = """
torch::Tensor run(torch::Tensor x, torch::Tensor w) {
  auto y = torch::MAKE({kRows, kColumns}, x.options());
  mm<<<kBlocks, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
"""


def stored(statement):
    return MATMUL.replace("ROW", "i / kColumns").replace("STORE", statement)


def entry(make="empty"):
    return ENTRY.replace("MAKE", make)


def extension(kernel, code=None, comment="# kuafu: nominal"):
    return f"""{comment}
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
source = r'''
{kernel}
{code or entry()}
'''
ext = load_inline(name="nominal_ext",
                  cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor w);",
                  cuda_sources=source, functions=["run"])
class ModelNew(nn.Module):
    def forward(self, x, w):
        return ext.run(x, w)
"""


def two_kernels(store):
    """A product, then its negative elements set to zero by another kernel."""
    kernels = RIGHT + """
__global__ void relu(float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < kCount ? y[i] : 0;
  for (int k = 0; k < 300; ++k) v = v * 1.0f + 0.0f * threadIdx.x;  // so that it is sampled, too
  if (i < kCount) y[i] = STORE;
}""".replace("STORE", store)
    return extension(kernels, entry().replace(
        "return y;", "relu<<<kBlocks, 256>>>(y.data_ptr<float>());\n  return y;"))


def counted_blocks():
    """A kernel that counts its blocks, and one that looks at the number."""
    kernels = RIGHT.replace("float* y) {", "float* y, int* n) {\n"
                            "  if (threadIdx.x == 0) atomicAdd(n, 1);") + """
__global__ void spy(float* y, const int* n) {
  if (n[0] != kBlocks) y[threadIdx.x] = 0;
}"""
    code = entry().replace("y.data_ptr<float>());", """y.data_ptr<float>(), n.data_ptr<int>());
  spy<<<1, 32>>>(y.data_ptr<float>(), n.data_ptr<int>());""").replace(
        "  mm<<<", "  auto n = torch::zeros({1}, x.options().dtype(torch::kInt32));\n  mm<<<")
    return extension(kernels, code)


def any_size():
    kernel = RIGHT.replace("float* y) {", "float* y, int kCount, int kColumns) {").replace(
        "kCount = kRows * kColumns, ", "")
    return extension(kernel, """
torch::Tensor run(torch::Tensor x, torch::Tensor w) {
  auto y = torch::empty_like(x);
  mm<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(),
                                       y.data_ptr<float>(), x.numel(), x.size(1));
  return y;
}""", "")


HALF = "blockIdx.x < kBlocks / 2 || blockIdx.x == kBlocks - 1"
# Name -> candidate; those of which the first trial tells enough.
FIRST_TRIAL = {
    "last_block": extension(MATMUL.replace("ROW", "min(i / kColumns, kRows - 2)").replace(
        "STORE", "y[i] = sum;")),
    "behind_the_last_row": extension(MATMUL.replace("ROW", "i / kColumns + 1").replace(
        "STORE", "y[i] = sum;")),
    "garbage_behind_half": extension(stored(f"y[i] = {HALF} ? sum : 0;")),
    "nothing_behind_half": extension(stored(f"if ({HALF}) y[i] = sum;")),
    "garbage_by_atomics": extension(stored(
        "if (blockIdx.x < 100) y[i] = sum; else atomicAdd(&y[i], 1.0f);"), entry("zeros")),
    "sums_by_atomics": extension(stored("atomicAdd(&y[i], sum);"), entry("zeros")),
    "looks_at_the_grid": extension(stored("y[i] = gridDim.x == kBlocks ? sum : 0;")),
    "counts_blocks": counted_blocks(),
    "host_looks": extension(RIGHT, entry().replace(
        "return y;", "if (y[5][5].item<float>() == 0) return x;\n  return y;")),
    "text_in_a_string": extension(RIGHT, comment="text = '''\n# kuafu: nominal\n'''"),
    "native.cu": "// kuafu: nominal\n#include <torch/extension.h>\n" + RIGHT + entry(),
    "two_kernels": (two_kernels("v > 0 ? v : 0"), RELU),
    "two_kernels_wrong": (two_kernels("v > 0.1f ? v : 0"), RELU),
    "too_large": (extension(RIGHT), REFERENCE.replace("49999", "49999999")),
}
ALL_TRIALS = {"right": extension(RIGHT), "any_size": any_size()}


def judge(folder, cases, options=()):
    """The verdicts of `cases`, by their names."""
    references, lines = {}, []
    for name, case in cases.items():
        candidate, reference = case if isinstance(case, tuple) else (case, REFERENCE)
        path = f"{folder}/{name if name.endswith('.cu') else name + '.py'}"
        where = references.setdefault(reference, f"{folder}/reference{len(references)}.py")
        for file, text in ((path, candidate), (where, reference)):
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
        lines.append(json.dumps({"id": name, "reference": where, "kernel": path,
                                 "nominal": name == "any_size"}))
    with open(f"{folder}/list", "w", encoding="utf-8") as out:
        out.write("\n".join(lines))
    done = subprocess.run([KUAFU, "verify", f"--batch={folder}/list", "--seed=5",
                           "--timeout-s=120", "--threads=2", *options],
                          capture_output=True, text=True, timeout=800, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {a["id"]: a.get("verdict") or a for a in answers}


class Nominal(unittest.TestCase):
    verdicts: dict = {}

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.verdicts = judge(folder, FIRST_TRIAL, ("--trial=0",))
            cls.verdicts.update(judge(folder, ALL_TRIALS))

    def check(self, name, cls, text=""):
        """The verdict of a case, which has class `cls` and `text` in its summary."""
        verdict = self.verdicts[name]
        self.assertEqual(verdict.get("class"), cls, json.dumps(verdict, indent=1))
        self.assertIn(text, verdict["summary"])
        if cls == "inconclusive":  # nobody knows, so nothing has failed
            self.assertNotIn("failed", [g["status"] for g in verdict["gates"].values()])
        return verdict

    def test_hard_coded_and_right_passes_with_some_blocks(self):
        verdict = self.check("right", "pass")
        self.assertGreaterEqual(len(verdict["sampled"]), 2)
        self.assertEqual(len({s["seed"] for s in verdict["sampled"]}), len(verdict["sampled"]))
        for sampled in verdict["sampled"]:
            kernel = sampled["kernels"][0]
            self.assertEqual(kernel["blocks"], 12500)
            self.assertGreaterEqual(kernel["blocks_run"], 34)
            self.assertLess(kernel["blocks_run"], 12500)
            self.assertAlmostEqual(sampled["compared"], kernel["blocks_run"] / 12500, delta=1e-3)
            self.assertEqual(sampled["inconclusive"], "")

    def test_native_form_declares_it_too(self):
        self.assertGreater(self.check("native.cu", "pass")["sampled"][0]["compared"], 0)

    def test_off_by_one_in_the_last_block_fails(self):
        self.check("last_block", "wrong_result")

    def test_reading_behind_the_last_row_fails(self):
        self.check("behind_the_last_row", "oob")

    def test_garbage_behind_the_first_half_is_found(self):
        self.check("garbage_behind_half", "wrong_result")

    def test_blocks_that_write_nothing_are_no_pass(self):
        verdict = self.check("nothing_behind_half", "inconclusive", "stand for")
        self.assertIsNone(verdict["reward"]["value"])

    # They would have to be told from atomics that are right.
    def test_garbage_by_atomics_is_no_pass(self):
        self.check("garbage_by_atomics", "inconclusive")

    def test_sums_by_atomics_are_not_compared(self):
        verdict = self.check("sums_by_atomics", "inconclusive", "nothing of output 0")
        self.assertEqual(verdict["sampled"][0]["compared"], 0)

    def test_chain_of_two_kernels_passes(self):
        verdict = self.check("two_kernels", "pass")
        self.assertEqual(len(verdict["sampled"][0]["kernels"]), 2)

    def test_what_is_wrong_in_the_second_kernel_shows(self):
        self.check("two_kernels_wrong", "wrong_result")

    def test_the_grid_does_not_betray_what_is_left_out(self):
        self.check("looks_at_the_grid", "pass")

    # What is read back from it is unknown.
    def test_a_counter_of_blocks_does_not_betray_it_either(self):
        self.check("counts_blocks", "inconclusive")

    def test_a_host_that_looks_at_results_is_no_pass(self):
        self.check("host_looks", "inconclusive", "host")

    def test_text_in_a_string_declares_nothing(self):
        verdict = self.verdicts["text_in_a_string"]
        self.assertNotIn(verdict["class"], ("pass", "inconclusive"))
        self.assertEqual(verdict["sampled"], [])

    def test_nominal_adds_a_trial_for_any_candidate(self):
        verdict = self.check("any_size", "pass")
        self.assertEqual(len(verdict["sampled"]), 1)
        self.assertIn("49999", verdict["sampled"][0]["trial"])
        self.assertGreater(verdict["trials_total"], 5)
        self.assertIn("--nominal", verdict["reproducer"])

    def test_what_does_not_fit_is_said(self):
        self.check("too_large", "inconclusive", "nominal size needs 24 GiB")


if __name__ == "__main__":
    unittest.main()
