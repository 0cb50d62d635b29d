# SPDX-License-Identifier: Apache-2.0
"""Counts of x modulo 64."""
import torch
import torch.nn as nn

count = 3000
bins = 64


class Model(nn.Module):
    def forward(self, x):
        return torch.bincount(torch.remainder(x, bins), minlength=bins)


def get_inputs():
    return [torch.randint(0, 1 << 20, (count,))]


def get_init_inputs():
    return []
