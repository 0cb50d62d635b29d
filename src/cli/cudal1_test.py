#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`kuafu bench timemodel --cuda-l1` on a checkout of a few files with made-up speed-ups: a kernel
runs, an extension that does not build falls back, both together, a CUDA graph, values that are
needed, and a file that goes wrong.

    cudal1_test.py PROGRAM"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""

REFERENCE = """
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        return torch.relu(x) + 1.0
def get_inputs():
    return [torch.randn(4096, 8192)]
def get_init_inputs():
    return []
"""

# One kernel that reads and writes once: about half of what PyTorch moves.
EXTENSION = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
cuda = """
#include <torch/extension.h>
__global__ void relu_add(const float* x, float* y, long n) {
  long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) + 1.0f;
}
torch::Tensor relu_one(torch::Tensor x) {
  auto y = torch::MAKE_like(x);
  long n = x.numel();
  relu_add<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
try:
    ext = load_inline(name="ext", cpp_sources="DECLARATION", cuda_sources=cuda,
                      functions=["relu_one"])
except Exception:
    ext = None
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.unused = nn.Parameter(torch.Tensor(3, 3))
    def forward(self, x):
        if ext is None:
            return torch.relu(x) + 1.0
        return BODY
'''
DECLARED = "torch::Tensor relu_one(torch::Tensor x);"

GRAPH = '''
# __global__
import torch
import torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None
    def forward(self, x):
        if self.graph is None:
            self.x = x.clone()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = torch.relu(self.x) + 1.0
        self.x.copy_(x)
        self.graph.replay()
        return self.y
'''
WRONG = '''
# __global__
import torch.nn as nn
class ModelNew(nn.Module):
    def forward(self, x):
        raise ValueError("not today")
'''


def extension(declaration=DECLARED, body="ext.relu_one(x)", make="empty"):
    return EXTENSION.replace("DECLARATION", declaration).replace("BODY", body).replace(
        "MAKE", make)


FILES = {  # task -> candidate, published
    1: (extension(), 2.0),
    2: (extension(declaration=""), 1.0),
    3: (extension(body="torch.tanh(ext.relu_one(x))"), 1.1),
    4: (GRAPH, 0.9),
    5: (WRONG, 1.0),
    6: (extension(make="zeros"), 1.2),
    7: ("import torch", 1.0),  # no kernel: not looked at
}


class CudaL1(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        codes = cls.root / "optimized_cuda_code"
        codes.mkdir()
        with open(codes / "h100.json", "w", encoding="utf-8") as file:
            for task, (candidate, speedup) in FILES.items():
                file.write(json.dumps({"level_id": 1, "task_id": task, "ref_code": REFERENCE,
                                       "custom_code": candidate, "score_default": speedup}) + "\n")
        cls.out = cls.root / "out"
        done = cls.run_program()
        assert done.returncode == 0, done.stderr
        cls.summary = done.stdout

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_program(cls, *options):
        return subprocess.run([PROGRAM, "bench", "timemodel", f"--cuda-l1={cls.root}", "--gpu=h100",
                               "-o", str(cls.out), *options], capture_output=True, text=True,
                              timeout=280, check=False)

    def row(self, task):
        """[half, what ran, launches, operators, published, modelled, uncertainty, ms, eager ms]"""
        match = re.search(rf"^\| h100/level1/task{task} \| (.*) \|$", self.summary, re.M)
        self.assertIsNotNone(match, f"task {task}:\n{self.summary}")
        return [cell.strip() for cell in match[1].split("|")]

    def test_a_kernel_that_moves_half_as_much_is_twice_as_fast(self):
        row = self.row(1)
        self.assertEqual(row[1:4], ["own kernels", "1", "0"])
        self.assertTrue(1.6 < float(row[5]) < 2.4, row)

    def test_what_falls_back_to_pytorch_is_called_so(self):
        row = self.row(2)
        self.assertEqual(row[1:4], ["PyTorch only", "0", "2"])
        self.assertEqual(float(row[5]), 1.0)
        self.assertIn("## An extension does not build", self.summary)
        self.assertRegex(self.summary, r"task2: .*relu_one")

    def test_a_mixed_call_is_the_sum(self):
        row, alone = self.row(3), self.row(1)
        self.assertEqual(row[1:4], ["own kernels and PyTorch", "1", "1"])
        self.assertTrue(1.7 < float(row[7]) / float(alone[7]) < 2.3, (row, alone))

    def test_a_fill_by_an_extension_costs_time(self):
        row, alone = self.row(6), self.row(1)
        self.assertEqual(row[1], "own kernels")
        self.assertTrue(1.3 < float(row[7]) / float(alone[7]) < 1.7, (row, alone))

    def test_a_cuda_graph_does_what_was_captured(self):
        row = self.row(4)
        self.assertEqual(row[1:4], ["PyTorch only", "0", "2"])  # and a copy
        self.assertTrue(0.5 < float(row[5]) < 0.8, row)

    def test_what_goes_wrong_says_why_and_others_go_on(self):
        self.assertRegex(self.summary, r"task5: forward\(\).*ValueError: not today")
        self.assertNotIn("task7", self.summary)

    def test_the_same_command_goes_on_and_says_the_same(self):
        work = self.out / "work.jsonl"
        lines = work.read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(lines), 6)
        work.write_text("\n".join(lines[:4]) + '\n{"id": "cut', encoding="utf-8")
        again = self.run_program()
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(sorted(again.stdout.splitlines()), sorted(self.summary.splitlines()))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
