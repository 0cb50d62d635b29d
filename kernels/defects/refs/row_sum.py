# SPDX-License-Identifier: Apache-2.0
"""Sum of each row."""
import torch
import torch.nn as nn

rows = 6
cols = 700


class Model(nn.Module):
    def forward(self, x):
        return x.sum(dim=1)


def get_inputs():
    return [torch.rand(rows, cols)]


def get_init_inputs():
    return []
