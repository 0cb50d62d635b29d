# SPDX-License-Identifier: Apache-2.0
"""Inclusive prefix sum of each row."""
import torch
import torch.nn as nn

rows = 6
cols = 700


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=1)


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
