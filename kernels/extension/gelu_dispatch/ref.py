# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

rows = 30
cols = 514


class Model(nn.Module):
    """GELU with the exact error function."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.nn.functional.gelu(x)


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
