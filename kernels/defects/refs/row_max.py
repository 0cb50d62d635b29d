# SPDX-License-Identifier: Apache-2.0
"""Maximum of each row, NaN propagates."""
import torch
import torch.nn as nn

rows = 6
cols = 700


class Model(nn.Module):
    def forward(self, x):
        return x.max(dim=1).values


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
