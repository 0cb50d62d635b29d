# SPDX-License-Identifier: Apache-2.0
"""Elementwise 2x + 1 over a matrix with an odd row length."""
import torch
import torch.nn as nn

rows = 9
cols = 131


class Model(nn.Module):
    def forward(self, x):
        return 2 * x + 1


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
