# SPDX-License-Identifier: Apache-2.0
"""Mean of pairs of integers as a float."""
import torch
import torch.nn as nn

count = 3000


class Model(nn.Module):
    def forward(self, x):
        return x / 2


def get_inputs():
    return [torch.randint(-1000, 1000, (count,), dtype=torch.int32)]


def get_init_inputs():
    return []
