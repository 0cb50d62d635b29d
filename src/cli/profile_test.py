#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`kuafu profile` as its users see it: figures that follow from the source, labels, exit codes.

  profile_test.py KUAFU
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KUAFU = sys.argv.pop(1)

TRANSPOSE_REF = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.t().contiguous()


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
"""
TRANSPOSE = """
// kuafu: entry=transpose args=x fixed_shapes=true
#include <torch/extension.h>
__global__ void transpose_kernel(const float* x, float* y, int n) {
  __shared__ float tile[32][32 + PAD];
  int from = (blockIdx.y * 32 + threadIdx.y) * n + blockIdx.x * 32 + threadIdx.x;
  tile[threadIdx.y][threadIdx.x] = x[from];
  __syncthreads();
  float v = tile[threadIdx.x][threadIdx.y];
  y[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] = v;
}
torch::Tensor transpose(torch::Tensor x) {
  int n = x.size(0);
  auto y = torch::empty({n, n}, x.options());
  dim3 grid(n / 32, n / 32), block(32, 32);
  transpose_kernel<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""


def example(name):
    return os.path.join(ROOT, "examples", name)


def kuafu(*arguments):
    return subprocess.run([KUAFU, "profile", *arguments], capture_output=True, text=True,
                          timeout=120, check=False)


class Profile(unittest.TestCase):
    def profile(self, reference, kernel, *arguments, code=0):
        run = kuafu(reference, kernel, "--json", *arguments)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return json.loads(run.stdout)

    def test_softmax_is_what_its_source_says(self):
        result = self.profile(example("softmax/ref.py"), example("softmax/softmax.cu"),
                              "--target=sim:h100")
        self.assertEqual(result["class"], "pass")
        self.assertTrue(result["simulated"])
        [kernel] = result["kernels"]
        self.assertEqual(kernel["launches"], 1)
        self.assertEqual(kernel["block"], [256, 1, 1])
        self.assertEqual(kernel["shared_bytes_per_block"]["static"], 1024)
        counted = kernel["counted"]
        self.assertEqual(counted["barriers"], 19 * kernel["blocks"])
        self.assertEqual(counted["global_load"]["sectors_per_request"], 4.0)
        self.assertEqual(counted["global_store"]["transactions_per_request"], 1.0)
        self.assertEqual(counted["global_load"]["bytes_requested"],
                         3 * counted["global_store"]["bytes_requested"])
        self.assertEqual(counted["shared"]["bank_conflicts"], 0)
        # The tree's last steps leave a warp with fewer lanes, in each of the two trees.
        self.assertEqual(counted["branches"]["diverged"], 2 * 5 * kernel["blocks"])
        self.assertEqual(kernel["registers_per_thread"]["label"], "estimated")
        self.assertEqual(kernel["occupancy"]["label"], "modelled")
        self.assertEqual(kernel["bounds_us"]["label"], "modelled")
        # What the first pass brought from DRAM, the others find in a cache.
        self.assertEqual(kernel["modelled"]["dram_read_bytes"],
                         counted["global_store"]["bytes_requested"])
        self.assertTrue(all(line["file"].endswith("softmax.cu") for line in kernel["lines"]))

    def test_a_wide_warp_makes_wide_requests_and_unknown_figures_are_named(self):
        result = self.profile(example("softmax/ref.py"), example("softmax/softmax.mu"))
        [kernel] = result["kernels"]
        self.assertEqual(result["target"], "sim:mtt-s4000")
        self.assertEqual(kernel["warp_width"], 128)
        self.assertEqual(kernel["counted"]["global_load"]["sectors_per_request"], 16.0)
        self.assertIn("registers/SM", kernel["occupancy"]["assumed_figures"])
        self.assertIsNone(kernel["bounds_us"]["issue slots"])

    def test_padding_ends_the_bank_conflicts_of_a_transpose(self):
        with tempfile.TemporaryDirectory() as folder:
            reference = os.path.join(folder, "ref.py")
            with open(reference, "w", encoding="utf-8") as file:
                file.write(TRANSPOSE_REF)
            for pad, conflicts in ((0, 4 * 32 * 31), (1, 0)):
                path = os.path.join(folder, "transpose.cu")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(TRANSPOSE.replace("PAD", str(pad)))
                result = self.profile(reference, path, "--target=sim:a100")
                self.assertEqual(result["class"], "pass", result["summary"])
                [kernel] = result["kernels"]
                shared = kernel["counted"]["shared"]
                self.assertEqual(kernel["blocks"], 4)
                self.assertEqual(shared["requests"], 2 * 4 * 32)
                self.assertEqual(shared["bank_conflicts"], conflicts)
                if pad == 0:
                    text = kuafu(reference, path, "--target=sim:a100").stdout
                    self.assertIn(f"shared bank conflicts {conflicts}", text)
                    self.assertIn("theoretical occupancy", text)
                    self.assertIn("(estimated)", text)

    def test_an_extension_candidate_is_profiled_too(self):
        folder = os.path.join(ROOT, "kernels/hacks/37_hidden_race")
        result = self.profile(os.path.join(folder, "ref.py"), os.path.join(folder, "honest.py"))
        self.assertEqual(result["class"], "pass", result["summary"])
        self.assertGreaterEqual(len(result["kernels"]), 1)
        self.assertGreater(result["kernels"][0]["counted"]["warp_instructions"], 0)

    def test_same_seed_same_profile(self):
        runs = [self.profile(example("softmax/ref.py"), example("softmax/softmax.cu"), "--seed=7")
                for _ in range(2)]
        self.assertEqual(runs[0], runs[1])

    def test_a_wrong_kernel_is_profiled_and_said_to_be_wrong(self):
        result = self.profile(example("rowsum/ref.py"), example("rowsum/rowsum_warp32.cu"),
                              "--target=sim:mtt-s4000", code=1)
        self.assertNotEqual(result["class"], "pass")
        self.assertEqual(len(result["kernels"]), 1)
        self.assertEqual(result["kernels"][0]["warp_width"], 128)

    def test_wrong_usage(self):
        self.assertEqual(kuafu(example("softmax/ref.py")).returncode, 2)
        self.assertEqual(kuafu(example("softmax/ref.py"), example("softmax/softmax.cu"),
                               "--target=sim:h100,sim:a100").returncode, 2)
        self.assertEqual(kuafu(example("softmax/ref.py"), "no.cu").returncode, 2)


if __name__ == "__main__":
    unittest.main()
