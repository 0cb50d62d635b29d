#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: the mutators change what they say and nothing else, the choice is even and repeatable, and
the report counts honestly. Method: small sources, the real corpus, made-up results."""

import collections
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import mutants  # noqa: E402
import mutation  # noqa: E402

KERNEL = """
#include <torch/extension.h>
#define MASK 0xffffffffu
constexpr int kThreads = 64;  // a < b, __syncthreads();
constexpr float kScale = 2.0f;

template <typename T>
__device__ float total(float value, float* scratch) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half && value == value) scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  return scratch[0];
}

__global__ void row_sum(const float* __restrict__ x, float* y, int64_t rows, int dim) {
  __shared__ float scratch[kThreads];
  const int64_t row = static_cast<int64_t>(blockIdx.x) * dim;
  printf("a < b %d\\n", dim);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < dim; i += kThreads) sum += expf(x[row + i] - 1.0f);
  const float other = __shfl_xor_sync(MASK, sum, 16);
  sum = total<float>(i < dim ? sum : other, scratch);
  if (threadIdx.x == 0) atomicAdd(&y[blockIdx.x], sum);
}

torch::Tensor forward(torch::Tensor x) {
  TORCH_CHECK(x.size(0) + 1 > 0, "a < b");
  x = x.contiguous();
  torch::Tensor y = torch::zeros({x.size(0)}, x.options());
  if (x.numel() == 0) return y;
  const int64_t blocks = (x.size(0) + 0 + kThreads - 1) / kThreads;
  row_sum<<<blocks, kThreads, 4 * kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0),
                                              (int)x.size(1));
  return y;
}
"""


def after(name, text=KERNEL):
    return [m.after for m in mutation.mutants(mutation.Source(text), {name})]


class Mutation(unittest.TestCase):
    def test_tokenizer_keeps_strings_comments_and_separators_whole(self):
        text = 'int a = 1\'000; // x < y "\n/* b\n*/ const char* s = "\\"<"; char c = \'"\';\n' \
               'auto r = R"(a " < b)"; float f = 1.5e-3f; a <<= 2; k<<<1, 2>>>();\n'
        tokens = mutation.Source(text).tokens
        words = [t.text for t in tokens]
        for whole in ["1'000", '"\\"<"', "'\"'", 'R"(a " < b)"', "1.5e-3f", "<<=", "<<<", ">>>"]:
            self.assertIn(whole, words)
        self.assertNotIn("<", words)
        self.assertEqual([t.line for t in tokens if t.text == "s"], [3])

    def test_comparisons_are_told_from_templates_strings_and_launches(self):
        found = after("lt_to_le")
        self.assertEqual(len(found), 4)
        self.assertTrue(all("<=" in x or ">=" in x for x in found), found)
        self.assertFalse(any("printf" in x or "TORCH_CHECK" in x or "<<<" in x for x in found))

    def test_each_operator_finds_its_place(self):
        expected = {
            "drop_syncthreads": "(void)0;",
            "wrong_mask": "const float other = __shfl_xor_sync(0x0000ffffu, sum, 16);",
            "wrong_shuffle": "const float other = __shfl_xor_sync(MASK, sum, 16 + 1);",
            "drop_guard": "sum = total<float>(true ? sum : other, scratch);",
            "drop_atomic": "if (threadIdx.x == 0) y[blockIdx.x] += sum;",
            "narrow_index": "const short row = static_cast<int64_t>(blockIdx.x) * dim;",
            "no_max_subtraction": "for (int i = threadIdx.x; i < dim; i += kThreads) "
                                  "sum += expf(x[row + i] );",
            "drop_init": "float sum ;",
            "swap_branches": "sum = total<float>(i < dim ? other : sum, scratch);",
            "grid_rounded_down": "const int64_t blocks = (x.size(0) ) / kThreads;",
            "shared_too_small": "__shared__ float scratch[kThreads - 1];",
            "drop_contiguous": "x = x;",
            "empty_for_zeros": "torch::Tensor y = torch::empty({x.size(0)}, x.options());",
            "drop_empty_check": ";",
        }
        for name, line in expected.items():
            self.assertIn(line, after(name), name)

    def test_a_statement_of_several_tokens_and_both_halves_of_a_condition(self):
        self.assertIn("if (threadIdx.x < half && value == value) ;", after("drop_statement"))
        both = after("drop_conjunct")
        self.assertEqual(len(both), 2)
        self.assertIn("if ( value == value) scratch[threadIdx.x] += scratch[threadIdx.x + half];",
                      both)

    def test_device_operators_leave_host_code_alone_and_the_reverse(self):
        source = mutation.Source(KERNEL)
        first_host = KERNEL[:KERNEL.index("torch::Tensor forward")].count("\n") + 1
        for m in mutation.mutants(source):
            name = m.operator
            host = name in {"grid_rounded_down", "grid_too_small", "block_halved", "drop_launch",
                            "drop_contiguous", "shared_bytes_wrong", "empty_for_zeros",
                            "swap_sizes", "drop_empty_check", "host_arithmetic"}
            self.assertEqual(host, m.line >= first_host, f"{name} in line {m.line}")
            self.assertNotIn("TORCH_CHECK", m.before)

    def test_corpus_choice_is_even_repeatable_and_large(self):
        candidates = mutants.all_mutants()
        chosen = mutants.choose(candidates, mutants.COUNT, 1)
        again = mutants.choose(candidates, mutants.COUNT, 1)
        self.assertGreaterEqual(len(chosen), 300)
        self.assertEqual([c[3].text for c in chosen], [c[3].text for c in again])
        self.assertNotEqual([c[3].text for c in chosen],
                            [c[3].text for c in mutants.choose(candidates, mutants.COUNT, 2)])
        kernels = collections.Counter(c[0]["name"] for c in chosen)
        self.assertEqual(len(kernels), len(mutants.corpus()))
        self.assertLessEqual(max(kernels.values()), 3 * min(kernels.values()))
        found = collections.Counter(c[3].operator for c in candidates)
        taken = collections.Counter(c[3].operator for c in chosen)
        self.assertEqual(set(found), set(mutation.OPERATORS))
        most = max(taken.values())
        for name, count in taken.items():
            self.assertTrue(count >= most - 1 or count == found[name], f"{name}: {count}")

    def test_report_counts_survivors_and_leaves_out_what_does_not_compile(self):
        names = ["lt_to_le", "lt_to_le", "drop_guard", "drop_guard", "drop_init", "drop_init"]
        records = [{"id": str(i), "kernel": "k", "operator": o, "line": i, "before": f"b{i}",
                    "after": f"a{i}", "file": "f", "target": "t", "reference": "r"}
                   for i, o in enumerate(names)]
        quick = {str(i): {"class": c, "summary": ""} for i, c in
                 enumerate(["oob", "pass", "compile_error", "pass", "pass", "pass"])}
        full = {"5": {"class": "race", "summary": ""}}
        explained = {mutants.key(records[1]): {"because": "equivalent", "reason": "same"},
                     mutants.key(records[3]): {"because": "missed", "reason": "too small a shape"}}
        summary = mutants.summarise(records, quick, full, explained)
        self.assertEqual(summary["total"], {"all": 6, "detected": 2, "equivalent": 1, "missed": 1,
                                            "not_compiled": 1, "unexplained": 1, "full_only": 1})
        self.assertAlmostEqual(summary["rate"], 2 / 4)
        self.assertAlmostEqual(summary["rate_quick"], 1 / 4)
        self.assertIn("too small a shape", mutants.markdown(summary))
        quick["0"] = {"class": "compile_error", "summary": "the compiler took longer than 20 s"}
        del quick["4"]
        total = mutants.summarise(records, quick, full, explained)["total"]
        self.assertEqual(total["not_judged"], 2)


if __name__ == "__main__":
    unittest.main()
