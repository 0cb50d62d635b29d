# SPDX-License-Identifier: Apache-2.0
"""Elementwise 2x + 1 over more rows than a grid y dimension may have."""
import torch
import torch.nn as nn

rows = 65552
cols = 1


class Model(nn.Module):
    def forward(self, x):
        return 2 * x + 1


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
