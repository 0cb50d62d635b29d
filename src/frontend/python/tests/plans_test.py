# SPDX-License-Identifier: Apache-2.0
"""Shapes, values and truth of small files written for one purpose each."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy  # noqa: E402
import torch  # noqa: E402

from files_test import make  # noqa: E402
from kuafu_frontend import init_json  # noqa: E402
from kuafu_frontend.errors import BadFile  # noqa: E402
from kuafu_frontend.precision import Run64  # noqa: E402

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def text(forward, inputs, head="", init="", arguments="", init_inputs="[]"):
    constructor = ""
    if init:
        constructor = f"""
    def __init__(self{arguments}):
        super().__init__()
        {init}"""
    return f"""{HEAD}{head}
class Model(nn.Module):{constructor}
    def forward(self, x, *rest):
        return {forward}
def get_inputs():
    return {inputs}
def get_init_inputs():
    return {init_inputs}
"""


def trial(document, label, name=None):
    return next(t for t in document["trials"] if t["shape_label"] == label and (
        name is None or t["value_class"] == name))


def values(arenas, argument):
    kinds = {"f32": numpy.float32, "f64": numpy.float64, "i64": numpy.int64, "f16": numpy.float16}
    data = bytearray(arenas[0].size)
    for at, part in arenas[0].parts:
        data[at:at + len(part)] = part
    kind = numpy.dtype(kinds[argument["t"]])
    storage = numpy.frombuffer(bytes(data[argument["at"]:argument["at"] + argument["bytes"]]), kind)
    strides = [s * kind.itemsize for s in argument["strides"]]
    return numpy.lib.stride_tricks.as_strided(storage[argument["offset"]:], argument["shape"],
                                              strides)


class Plans(unittest.TestCase):
    def test_full_plan_has_views_empty_and_special_values(self):
        document, arenas = make(text("torch.relu(x)", "[torch.randn(rows, cols)]",
                                     "rows = 6\ncols = 130\n"), "full")
        labels = {t["shape_label"] for t in document["trials"]}
        self.assertLessEqual(
            {"strided", "sliced", "expanded", "empty", "wide", "tile+1", "tile-1"}, labels)
        classes = {t["value_class"] for t in document["trials"]}
        self.assertLessEqual({"special", "denormal", "large", "sparse", "constant", "zero_one"},
                             classes)
        strided = trial(document, "strided")["arguments"][0]
        self.assertEqual(strided["strides"][0], 1)
        sliced = trial(document, "sliced")["arguments"][0]
        self.assertGreater(sliced["offset"], 0)
        self.assertFalse(numpy.isnan(values(arenas, sliced)).any())
        self.assertEqual(trial(document, "expanded")["arguments"][0]["strides"][0], 0)
        special = values(arenas, trial(document, "nominal", "special")["arguments"][0])
        self.assertTrue(numpy.isnan(special).any())

    def test_a_trial_at_the_sizes_as_written_where_they_were_scaled(self):
        source = text("torch.relu(x)", "[torch.randn(rows, cols)]", "rows = 1100\ncols = 501\n")
        document, _ = make(source, nominal_trial=True)
        last = document["trials"][-1]
        self.assertTrue(last["sampled"])
        self.assertEqual(last["arguments"][0]["shape"], [1100, 501])
        self.assertFalse(any(t["sampled"] for t in document["trials"][:-1]))
        without, _ = make(source)
        self.assertEqual(len(without["trials"]), len(document["trials"]) - 1)

    def test_no_such_trial_where_nothing_was_scaled(self):
        document, _ = make(text("torch.relu(x)", "[torch.randn(rows, cols)]",
                                "rows = 6\ncols = 130\n"), nominal_trial=True)
        self.assertFalse(any(t["sampled"] for t in document["trials"]))
        self.assertTrue(any("were not scaled" in n for n in document["notes"]))

    def test_sizes_that_do_not_fit_are_named_and_no_failure(self):
        document, _ = make(text("torch.relu(x)", "[torch.randn(rows, cols)]",
                                "rows = 65536\ncols = 4096\n"), nominal_trial=True)
        self.assertFalse(any(t["sampled"] for t in document["trials"]))
        self.assertTrue(any("nominal size needs 2 GiB" in n and "scaled size only" in n
                            for n in document["notes"]), document["notes"])

    def test_products_that_take_too_long_are_named(self):
        document, _ = make(text("torch.matmul(x, rest[0])",
                                "[torch.randn(n, n), torch.randn(n, n)]", "n = 5120\n"),
                           nominal_trial=True)
        self.assertTrue(any("268 GFLOP" in n for n in document["notes"]), document["notes"])

    def test_large_sizes_that_a_candidate_hard_codes_are_sampled_in_every_trial(self):
        source = "[torch.randn(rows, cols)]"
        large, _ = make(text("torch.relu(x)", source, "rows = 1100\ncols = 501\n"),
                        nominal_only=True)
        self.assertTrue(all(t["sampled"] for t in large["trials"]))
        small, _ = make(text("torch.relu(x)", source, "rows = 4\ncols = 501\n"),
                        nominal_only=True)
        self.assertFalse(any(t["sampled"] for t in small["trials"]))

    def test_literal_sizes_are_found(self):
        document, _ = make(text("self.l(x)", "[torch.rand(16, 32)]", "",
                                "self.l = nn.Linear(n, 8)", ", n", "[32]"))
        odd = trial(document, "odd")
        self.assertEqual(odd["arguments"][0]["shape"], [7, 45])
        self.assertEqual(odd["arguments"][1]["shape"], [8, 45])

    def test_large_nominal_sizes_shrink_and_say_so(self):
        source = text("x @ rest[0]", "[torch.rand(M, K), torch.rand(K, N)]",
                      "M = 1024 * 4\nK = 4096\nN = 2048\n")
        document, _ = make(source)
        shape = trial(document, "nominal")["arguments"][0]["shape"]
        self.assertLess(shape[0] * shape[1], 1 << 18)
        self.assertIn("nominal sizes scaled: ", document["notes"][0])
        with self.assertRaises(BadFile) as caught:
            make(text("x + 1", "[torch.rand(n, 65536)]", "n = 8192\n"), nominal_only=True)
        self.assertEqual(caught.exception.code, "exhausted")

    def test_processed_random_numbers_keep_their_domain(self):
        document, arenas = make(text("torch.log(x)", "[torch.rand(n) * 4 + 2]", "n = 500\n"))
        for t in document["trials"]:
            v = values(arenas, t["arguments"][0])
            self.assertTrue((v >= 2).all() and (v <= 6).all(), t["value_class"])

    def test_labels_stay_labels(self):
        document, arenas = make(text("F.cross_entropy(x, rest[0])",
                                     "[torch.randn(n, 11), torch.randint(0, 11, (n,))]",
                                     "n = 40\n"), "full")
        for t in document["trials"]:
            if t["arguments"][1]["shape"][0]:
                v = values(arenas, t["arguments"][1])
                self.assertTrue((v >= 0).all() and (v < 11).all())

    def test_classes_that_reference_cannot_stand_are_dropped(self):
        document, _ = make(text("torch.sqrt(x)", "[torch.rand(n)]", "n = 300\n"))
        classes = {t["value_class"] for t in document["trials"]}
        self.assertNotIn("negative_mean", classes)
        self.assertTrue([n for n in document["notes"] if "negative_mean" in n])

    def test_ties_make_sorted_indices_ambiguous(self):
        document, _ = make(text("torch.topk(x, 3).indices", "[torch.randn(5, n)]", "n = 300\n"))
        self.assertFalse({"zero_one", "constant"} & {
            t["value_class"] for t in document["trials"]})

    def test_exact_sums_only_where_nothing_rounds(self):
        document, _ = make(text("x @ rest[0]", "[torch.randn(n, n), torch.randn(n, n)]",
                                "n = 20\n"))
        self.assertTrue(trial(document, "odd", "zero_one")["outputs"][0]["exact"])
        document, _ = make(text("(x @ rest[0]) / 3", "[torch.randn(n, n), torch.randn(n, n)]",
                                "n = 20\n"))
        self.assertFalse(any(o["exact"] for t in document["trials"] for o in t["outputs"]))

    def test_half_matmul_and_convolution(self):
        document, _ = make(text("F.conv2d((x @ x.transpose(-1, -2))[None, None], rest[0])",
                                "[torch.randn(n, 8).half(), torch.randn(2, 1, 3, 3).half()]",
                                "n = 12\n"))
        self.assertEqual(document["trials"][0]["outputs"][0]["dtype"], "f16")

    def test_reference_that_names_a_gpu_runs_on_the_cpu(self):
        forward = ("self.w.cuda() + x.to('cuda', non_blocking=True) + torch.ones("
                   "x.shape[1], device='musa').to(device=torch.device('cuda:0'))")
        document, _ = make(text(
            forward, "[torch.randn(4, n, device='cuda')]", "n = 24\ntorch.cuda.manual_seed(1)\n",
            "self.w = nn.Parameter(torch.ones(n, device='cuda')); self.cuda().to('cuda:0')"))
        self.assertEqual(document["trials"][0]["outputs"][0]["shape"], [4, 24])

    def test_newer_functions(self):
        document, _ = make(text("F.scaled_dot_product_attention(x, x, x, is_causal=True)",
                                "[torch.randn(2, 2, n, 16)]", "n = 24\n"))
        self.assertGreaterEqual(len(document["trials"]), 8)
        document, _ = make(text("self.n(x)", "[torch.randn(4, n)]", "n = 24\n",
                                "self.n = nn.RMSNorm(n)", "", "[]"))
        self.assertGreaterEqual(len(document["trials"]), 5)

    def test_einops_of_machines_without_it(self):
        from kuafu_frontend.einops_shim import EinopsError, einsum, rearrange, reduce, repeat
        x = torch.arange(144.0).reshape(2, 6, 4, 3)
        same = [
            (rearrange(x, "b (c l) ... -> b c l ...", l=3), x.reshape(2, 2, 3, 4, 3)),
            (rearrange(x, "b (c l) h p -> b h (l c) p", c=2),
             x.reshape(2, 2, 3, 4, 3).permute(0, 3, 2, 1, 4).reshape(2, 4, 6, 3)),
            (rearrange(x, "... w -> w ..."), x.permute(3, 0, 1, 2)),
            (rearrange(x, "b ... w -> b (...) w"), x.reshape(2, 24, 3)),
            (rearrange([x[0], x[1]], "b c h w -> (b c) h w"), x.reshape(12, 4, 3)),
            (reduce(x, "b c h w -> b c", "mean"), x.mean((2, 3))),
            (reduce(x, "b (c k) h w -> b c 1 w", "max", k=2),
             x.reshape(2, 3, 2, 4, 3).amax((2, 3)).unsqueeze(2)),
            (repeat(x[0, 0], "h w -> h (w k) r", k=2, r=5),
             x[0, 0][:, :, None].expand(4, 3, 2).reshape(4, 6)[..., None].expand(4, 6, 5)),
            (einsum(x[0, 0], x[0, 1], "time a, time other -> a other"), x[0, 0].t() @ x[0, 1]),
        ]
        for i, (got, expected) in enumerate(same):
            self.assertTrue(torch.equal(got, expected), i)
        for pattern in ("b c -> b", "b c h w", "b (c l) h w -> b c l h w", "b b h w -> b h w",
                        "b (c h w -> b c h w", "b c h w -> b c h w d", "b c h (w 2) -> b c h w"):
            with self.assertRaises(EinopsError):
                rearrange(x, pattern)

    def test_recurrent_model_and_nested_outputs(self):
        document, _ = make(text("self.l(x)", "[torch.randn(2, steps, 6)]", "steps = 5\n",
                                "self.l = nn.LSTM(6, 4, batch_first=True)"))
        self.assertEqual([o["name"] for o in document["task"]["outputs"]], ["y0", "y1_0", "y1_1"])

    def test_a_number_of_layers_is_the_same_in_all_trials(self):
        """A size of the state, and of the module's parameters by their number."""
        for layers in (2, 6):
            document, _ = make(text(
                "self.rnn(x, rest[0])[0]",
                "[torch.randn(length, batch, 8), torch.randn(layers, batch, 12)]",
                f"length = 7\nbatch = 3\nlayers = {layers}\n",
                "self.rnn = nn.GRU(8, 12, layers)", ", layers", "[layers]"))
            counts = {len(t["arguments"]) for t in document["trials"]}
            self.assertEqual(counts, {len(document["task"]["arguments"])})
            self.assertGreater(len({t["shape_text"] for t in document["trials"]}), 2)

    def test_full_plan_goes_beyond_the_usual_limit_of_a_grid(self):
        document, _ = make(text("torch.relu(x)", "[torch.randn(rows, n)]", "rows, n = 8, 40\n"),
                           "full")
        shape = trial(document, "large")["arguments"][0]["shape"]
        self.assertGreater(shape[0] * shape[1], 1024 * 256)

    def test_larger_shapes_do_not_multiply(self):
        document, _ = make(text("x * 2", "[torch.randn(a, b, c, d, e)]",
                                "a, b, c, d, e = 2, 3, 4, 5, 6\n"), "full")
        for t in document["trials"]:
            self.assertLess(numpy.prod(t["arguments"][0]["shape"]), 1 << 20, t["shape_label"])

    def test_noise_reaches_complex_operations(self):
        x, y = torch.randn(2, 20, 20, dtype=torch.float64)
        for forward in (lambda: torch.fft.fft(torch.complex(x, y)),
                        lambda: torch.complex(x, y) @ torch.complex(y, x)):
            with Run64(noise_seed=1, watch=False):
                noisy = forward()
            error = (torch.view_as_real(noisy) - torch.view_as_real(forward())).abs()
            self.assertGreater(error.min(), 2.0 ** -24)

    def test_noise_reaches_what_an_operation_changes_in_place(self):
        norm = torch.nn.BatchNorm1d(4, momentum=0.5).double()
        x = torch.randn(300, 4, dtype=torch.float64) + 10
        for spread in (0.0, 3.0):
            states = []
            for seed in (None, 1):
                norm.reset_running_stats()
                with Run64(noise_seed=seed, watch=False):
                    norm(spread + x - x.mean(0))  # its mean is that of terms that cancel
                states.append((norm.running_mean.clone(), norm.running_var.clone()))
            for exact, noisy in zip(*states):
                self.assertGreater((exact - noisy).abs().min(), 2.0 ** -24 / 8)
                self.assertLess((exact - noisy).abs().max(), 2.0 ** -24 * 128)

    def test_trace_is_flat_and_knows_reduction_lengths(self):
        document, _ = make(text("torch.softmax(x @ rest[0], -1)",
                                "[torch.randn(n, 30), torch.randn(30, n)]", "n = 20\n"))
        trace = document["task"]["trace"]
        self.assertEqual([(o["op"], o["k"]) for o in trace],
                         [("aten.mm.default", 30), ("aten._softmax.default", 20)])
        self.assertEqual(trace[1]["inputs"], trace[0]["results"])
        self.assertEqual(document["trials"][0]["outputs"][0]["k"], 30)


class Scaling(unittest.TestCase):
    """Sizes far beyond the budget become small ones that the file accepts."""

    def shapes(self, source, label="nominal", argument=0):
        document, _ = make(source)
        self.notes = document["notes"]
        return trial(document, label)["arguments"][argument]["shape"]

    def test_groups_divide_channels_at_every_shape(self):
        source = text("self.n(self.c(x))", "[torch.rand(batch, channels, h, w)]",
                      "batch, channels, groups = 128, 64, 8\nh = w = 256\n",
                      "self.c = nn.Conv2d(c, c, 3); self.n = nn.GroupNorm(g, c)", ", c, g",
                      "[channels, groups]")
        document, _ = make(source)
        labels = {t["shape_label"] for t in document["trials"]}
        self.assertLessEqual({"nominal", "odd", "prime", "tile"}, labels)
        shape = trial(document, "nominal")["arguments"][0]["shape"]
        self.assertLess(numpy.prod(shape), 1 << 18)
        self.assertEqual(shape[2], shape[3])

    def test_literals_next_to_names_are_scaled(self):
        shape = self.shapes(text("x.sum((2, 3))", "[torch.rand(batch, 3, 2048, 2048)]",
                                 "batch = 64\n"))
        self.assertLess(numpy.prod(shape), 1 << 20)

    def test_kernel_stays_smaller_than_its_image(self):
        shape = self.shapes(text("self.c(x)", "[torch.rand(b, c, h, w)]",
                                 "b, c, h, w = 16, 32, 512, 512\n",
                                 "self.c = nn.Conv2d(c, 64, (9, 25), dilation=2)", ", c", "[c]"))
        self.assertGreaterEqual(shape[3], 49)

    def test_equal_sizes_that_must_stay_equal_shrink_together(self):
        shape = self.shapes(text("x * rest[0]", "[torch.rand(batch, *size), torch.rand(batch)]",
                                 "batch = 32768\nsize = (32768,)\n"))
        self.assertEqual(shape[0], shape[1])

    def test_patches_divide_their_image(self):
        init = "assert size % patch == 0; self.c = nn.Conv2d(3, d, patch, patch)"
        document, _ = make(text("self.c(x)", "[torch.rand(2, 3, size, size)]",
                                "size, patch, d = 224, 16, 512\n", init, ", size, patch, d",
                                "[size, patch, d]"))
        for t in document["trials"]:
            self.assertEqual(t["arguments"][0]["shape"][3] % 16, 0)

    def test_defaults_of_the_constructor_are_passed_when_nothing_else_helps(self):
        source = text("x @ self.w", "[torch.rand(4, 4096)]", "",
                      "self.w = nn.Parameter(torch.rand(4096, width))", ", width=8192", "[]")
        document, _ = make(source)
        first = trial(document, "nominal")
        self.assertIn("width", first["init_json"])
        self.assertLess(first["arguments"][1]["shape"][1], 8192)
        self.assertTrue([n for n in document["notes"] if "constructor default width" in n])

    def test_long_recurrences_are_not_unrolled_to_find_their_cost(self):
        shape = self.shapes(text("self.l(x)[0]", "[torch.rand(10, steps, 64)]", "steps = 4096\n",
                                 "self.l = nn.LSTM(64, 64, 6, batch_first=True)"))
        self.assertLess(shape[1], 256)

    def test_a_group_keeps_more_than_one_number(self):
        source = text("self.n(self.l(x))", "[torch.rand(batch, inner)]",
                      "batch, inner, outer, groups = 1024, 8192, 8192, 512\n",
                      "self.l = nn.Linear(i, o); self.n = nn.GroupNorm(g, o)", ", i, o, g",
                      "[inner, outer, groups]")
        document, _ = make(source)
        for t in document["trials"]:
            if t["shape_label"] != "one":
                weight = t["arguments"][1]["shape"]
                groups = t["arguments"][-1]["i"]
                self.assertGreaterEqual(weight[0] // groups, 2, t["shape_text"])
        nominal = trial(document, "nominal")["arguments"]
        self.assertGreaterEqual(nominal[1]["shape"][0] // nominal[-1]["i"], 8)

    def test_rows_that_hardly_differ_are_replaced(self):
        forward = "(lambda m: (m - m.mean()) / m.std())((x + 1000).mean((1, 2, 3)))"
        document, _ = make(text(forward, "[torch.rand(batch, 8, 224, 224)]", "batch = 8\n"))
        self.assertEqual(document["trials"][0]["value_class"], "rows")
        self.assertTrue([n for n in document["notes"] if "cannot judge" in n])

    def test_a_state_that_forward_draws_is_drawn_alike_every_time(self):
        forward = "x + torch.randn(x.shape) + torch.rand_like(x)"
        document, _ = make(text(forward, "[torch.rand(batch, 8)]", "batch = 8\n"))
        self.assertTrue(document["forward_draws"])
        with self.assertRaises(BadFile):
            make(text("F.dropout(x)", "[torch.rand(batch, 8)]", "batch = 8\n"))


class InitJson(unittest.TestCase):
    def test_arguments_come_back_as_they_were(self):
        args = [None, True, 3, -0.0, 1e-5, float("inf"), 0.1 + 0.2, 1 << 70, "\u00e9\ud800",
                [1, [2]], (3, (4,)), {"a": (1,)}, {"__tuple__": 1}, {1: "x", (2, 3): None}]
        text = init_json.encode(args, {"eps": 1e-300, "size": (2, 2)})
        back, kwargs = init_json.decode(text)
        self.assertEqual(repr(back), repr(args))
        self.assertEqual(kwargs, {"eps": 1e-300, "size": (2, 2)})
        self.assertTrue(numpy.isnan(init_json.decode(init_json.encode([float("nan")], {}))[0][0]))

    def test_others_are_refused(self):
        for value in (torch.relu, torch.zeros(1), object(), b"x", {1, 2}, [torch.float32]):
            with self.assertRaises(init_json.NotJson):
                init_json.encode([value], {})
        endless = []
        endless.append(endless)
        for value in (endless, "x" * 70000):
            with self.assertRaises(init_json.NotJson):
                init_json.encode([value], {})


class Audits(unittest.TestCase):
    """The sets that a benchmark's own protocol is audited with."""

    @staticmethod
    def audit(source):
        return make(source, compat_kernelbench=True, alternatives=True)[0]

    def test_a_sum_keeps_its_length_where_rows_can_go(self):
        document = self.audit(text(
            "torch.relu(self.linear(x))", "[torch.rand(batch, features)]",
            "batch = 1024\nfeatures = 4096\n", "self.linear = nn.Linear(features, 512)"))
        self.assertEqual(document["sizes"], {"batch": 4})

    def test_a_sum_keeps_its_length_under_batch_statistics_too(self):
        document = self.audit(text(
            "self.norm(self.linear(x))", "[torch.rand(batch, features)]",
            "batch = 1024\nfeatures = 4096\n",
            "self.linear = nn.Linear(features, 8192); self.norm = nn.BatchNorm1d(8192)"))
        self.assertEqual(list(document["sizes"]), ["batch"])
        self.assertGreaterEqual(document["sizes"]["batch"], 8)

    def test_a_dimension_that_is_summed_over_is_no_row_though_first_of_one_input(self):
        document = self.audit(text("x @ rest[0]", "[torch.rand(m, k), torch.rand(k, n)]",
                                   "m = 512\nk = 65536\nn = 512\n"))
        self.assertNotIn("k", document["sizes"])

    def test_a_loss_is_computed_from_far_more_than_other_results(self):
        def inputs(result):
            document = self.audit(text(f"{result}(x * rest[0])",
                                       "[torch.rand(rows, 1024), torch.rand(1024)]",
                                       "rows = 16384\n"))
            return document["sizes"].get("rows", 16384)
        self.assertEqual(inputs("torch.mean"), 16384)
        self.assertEqual(inputs("torch.relu"), 4)

    def test_only_arguments_that_may_be_answers_are_kept(self):
        document = self.audit(text("x * self.w", "[torch.rand(8, 16)]", "",
                                   "self.w = nn.Parameter(torch.rand(16))"))
        kinds = [sorted(a) == ["n"] for a in document["trials"][0]["arguments"]]
        self.assertEqual(kinds, [False, True])


class Results(unittest.TestCase):
    def test_a_result_that_is_a_buffer_is_that_of_its_own_run(self):
        source = text("self.count.add_(1)", "[torch.rand(2, 3)]", "",
                      'self.register_buffer("count", torch.zeros(2, 3))')
        for kernelbench in (False, True):
            document, arenas = make(source, compat_kernelbench=kernelbench)
            output = document["trials"][0]["outputs"][0]
            data = b"".join(part for at, part in arenas[1].parts if at == output["at"])
            self.assertEqual(numpy.frombuffer(data, numpy.float64)[:6].tolist(), [1.0] * 6)


if __name__ == "__main__":
    unittest.main()
