# SPDX-License-Identifier: Apache-2.0
"""Bytes and FLOP of operations against numbers computed by hand, and that huge sizes need no
memory."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import torch  # noqa: E402

torch.set_num_threads(1)

from kuafu_frontend import devices, loader, operators, shims  # noqa: E402
from kuafu_frontend.errors import BadFile  # noqa: E402
from plans_test import text  # noqa: E402


def document(source):
    shims.install()
    devices.install()
    saved = torch.nn.functional.scaled_dot_product_attention
    try:
        return operators.list_operators(loader.Source(source, "ref.py"))
    finally:
        torch.nn.functional.scaled_dot_product_attention = saved


def listed(forward, inputs, init=""):
    return document(text(forward, inputs, "", init, "", "[]"))["operators"]


class Operators(unittest.TestCase):
    def only(self, records, kind):
        found = [r for r in records if r["kind"] == kind]
        self.assertEqual(len(found), 1, [(r["op"], r["kind"]) for r in records])
        return found[0]

    def numbers(self, record, **expected):
        self.assertEqual({k: record[k] for k in expected}, expected, record["op"])

    def test_a_terabyte_costs_nothing(self):
        one, = listed("torch.relu(x)", "[torch.rand(1 << 19, 1 << 19)]")
        self.numbers(one, kind="elementwise", flops=1 << 38, read=1 << 40, written=1 << 40,
                     strided=0, views=0)

    def test_matrix_product(self):
        one, = listed("x @ rest[0]", "[torch.rand(64, 32), torch.rand(32, 16)]")
        self.numbers(one, kind="gemm", m=64, n=16, k=32, batch=1, flops=2 * 64 * 32 * 16,
                     read=4 * (64 * 32 + 32 * 16), written=4 * 64 * 16)
        one, = listed("torch.bmm(x, rest[0])", "[torch.rand(5, 64, 32), torch.rand(5, 32, 16)]")
        self.numbers(one, m=64, n=16, k=32, batch=5, flops=2 * 5 * 64 * 32 * 16)
        one, = listed("self.l(x)", "[torch.rand(3, 8, 32)]", "self.l = nn.Linear(32, 16)")
        self.numbers(one, op="addmm", m=24, n=16, k=32, flops=2 * 24 * 16 * 32,
                     read=4 * (24 * 32 + 32 * 16 + 16), written=4 * 24 * 16)

    def test_convolution_and_its_bias_are_two(self):
        conv, bias = listed("self.c(x)", "[torch.rand(2, 3, 10, 12)]",
                            "self.c = nn.Conv2d(3, 8, 3)")
        pixels = 2 * 8 * 10
        self.numbers(conv, kind="conv", flops=2 * pixels * 8 * 27, m=pixels, n=8, k=27,
                     read=4 * (2 * 3 * 120 + 8 * 27), written=4 * pixels * 8, taps=9, dims=2)
        self.numbers(bias, op="convolution.bias", kind="elementwise",
                     read=4 * (pixels * 8 + 8), written=4 * pixels * 8)

    def test_transposed_convolution_counts_inputs(self):
        conv, = listed("self.c(x)", "[torch.rand(2, 4, 5, 5)]",
                       "self.c = nn.ConvTranspose2d(4, 6, 3, stride=2, bias=False)")
        self.numbers(conv, kind="conv", transposed=1, flops=2 * 2 * 4 * 25 * 6 * 9,
                     written=4 * 2 * 6 * 11 * 11, m=50, k=4, n=54)

    def test_channels_last_needs_both_operands_and_is_not_said_of_what_lies_in_order(self):
        pixels = "[torch.rand(2, 3, 10, 12)]"
        init = "self.c = nn.Conv2d(3, 8, 3, bias=False)"
        x_last = "x.to(memory_format=torch.channels_last)"
        for forward, more, wanted in (
                ("self.c(x)", "", 0), (f"self.c({x_last})", "", 0),
                (f"self.c({x_last})", "; self.c.to(memory_format=torch.channels_last)", 1)):
            conv = self.only(listed(forward, pixels, init + more), "conv")
            self.assertEqual(conv["channels_last"], wanted, forward + more)

    def test_depthwise_convolution(self):
        conv, = listed("self.c(x)", "[torch.rand(2, 4, 8, 8)]",
                       "self.c = nn.Conv2d(4, 4, 3, groups=4, bias=False)")
        self.numbers(conv, kind="depthwise", flops=2 * 2 * 4 * 36 * 9, read=4 * (512 + 36))

    def test_broadcast_operands_are_read_once(self):
        one, = listed("x + rest[0].expand(64, 32)", "[torch.rand(64, 32), torch.rand(32)]")
        self.numbers(one, read=4 * (64 * 32 + 32), written=4 * 64 * 32, views=1)

    def test_a_transposed_operand_is_strided(self):
        one, = listed("x.t() + rest[0]", "[torch.rand(64, 32), torch.rand(32, 64)]")
        self.numbers(one, strided=1)
        one, = listed("x.t().contiguous()", "[torch.rand(64, 32)]")
        self.numbers(one, kind="copy", strided=1, read=4 * 64 * 32, written=4 * 64 * 32)

    def test_reductions_know_their_row_and_its_stride(self):
        one, = listed("x.sum(1)", "[torch.rand(6, 10, 4)]")
        self.numbers(one, kind="reduction", rows=24, row=10, inner=4, read=960, written=96)
        one, = listed("x.mean(-1)", "[torch.rand(6, 10, 4)]")
        self.numbers(one, rows=60, row=4, inner=1)
        one, = listed("torch.argmax(x, 0)", "[torch.rand(6, 10)]")
        self.numbers(one, rows=10, row=6, inner=10, written=80)
        one, = listed("torch.cumsum(x, 1)", "[torch.rand(6, 10)]")
        self.numbers(one, kind="scan", rows=6, row=10, inner=1)

    def test_softmax_and_norms(self):
        one, = listed("torch.softmax(x, 1)", "[torch.rand(6, 10)]")
        self.numbers(one, kind="softmax", rows=6, row=10, inner=1, read=240, written=240)
        one, = listed("self.n(x)", "[torch.rand(6, 10)]", "self.n = nn.LayerNorm(10)")
        self.numbers(one, kind="norm", rows=6, row=10, read=4 * (60 + 20))
        records = listed("self.n(x)", "[torch.rand(6, 4, 5, 5)]", "self.n = nn.BatchNorm2d(4)")
        one = self.only(records, "norm")
        self.numbers(one, rows=4, row=150, training=1)
        self.assertEqual(len(records), 2)  # and num_batches_tracked

    def test_pooling_and_its_indices(self):
        one, = listed("F.max_pool2d(x, 2)", "[torch.rand(2, 3, 8, 8)]")
        self.numbers(one, kind="pooling", taps=4, read=4 * 384, written=96 * (4 + 8))
        one, = listed("F.avg_pool2d(x, 2)", "[torch.rand(2, 3, 8, 8)]")
        self.numbers(one, taps=4, written=96 * 4)

    def test_a_recurrent_network_is_one_operation(self):
        records = listed("self.r(x)[0]", "[torch.rand(7, 2, 10)]", "self.r = nn.LSTM(10, 6, 2)")
        one = self.only(records, "rnn")
        weights = 4 * 6 * (10 + 6) + 4 * 6 * (6 + 6)
        self.numbers(one, op="lstm", steps=7, layers=2, m=2, n=6, flops=2 * 2 * 7 * weights)
        self.assertEqual(one["out"][0], [7, 2, 6])

    def test_attention_is_one_operation_and_halved_if_causal(self):
        forward = "F.scaled_dot_product_attention(x, x, x{})"
        inputs = "[torch.rand(2, 3, 16, 8)]"
        one, = listed(forward.format(""), inputs)
        self.numbers(one, kind="attention", m=16, n=16, k=8, batch=6,
                     flops=2 * 6 * 16 * 16 * 16, written=4 * 768)
        one, = listed(forward.format(", is_causal=True"), inputs)
        self.numbers(one, flops=6 * 16 * 16 * 16)

    def test_embedding_reads_what_is_asked_for(self):
        one, = listed("self.e(x)", "[torch.zeros(100, dtype=torch.int64)]",
                      "self.e = nn.Embedding(50000, 64)")
        self.numbers(one, kind="gather", read=100 * 64 * 4 + 800, written=100 * 64 * 4)

    def test_losses_write_their_terms_out(self):
        terms, total = listed("F.mse_loss(x, rest[0])", "[torch.rand(64), torch.rand(64)]")
        self.numbers(terms, kind="elementwise", read=512, written=256)
        self.numbers(total, kind="reduction", row=64, rows=1, read=256, written=4)
        self.assertEqual(total["uses"], terms["makes"])

    def test_views_are_counted_and_values_followed(self):
        first, second = listed("torch.relu(torch.exp(x).view(-1))", "[torch.rand(4, 4)]")
        self.assertEqual(second["views"], 1)
        self.assertEqual(second["uses"], first["makes"])

    def test_writing_in_place_makes_the_same_value(self):
        one, = listed("x.relu_()", "[torch.rand(4, 4)]")
        self.assertEqual(one["uses"], one["makes"])

    def test_what_depends_on_values_is_an_error(self):
        with self.assertRaises(BadFile):
            listed("x.nonzero()", "[torch.rand(4, 4)]")


if __name__ == "__main__":
    unittest.main()
