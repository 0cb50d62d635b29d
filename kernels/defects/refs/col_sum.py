# SPDX-License-Identifier: Apache-2.0
"""Sum of each column."""
import torch
import torch.nn as nn

rows = 60
cols = 90


class Model(nn.Module):
    def forward(self, x):
        return x.sum(dim=0)


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
