# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

N = 20021
bins = 67


class Model(nn.Module):
    """Number of occurrences of each value below the number of bins."""

    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, x):
        return torch.bincount(x, minlength=self.bins)


def get_inputs():
    return [torch.randint(0, bins, (N,))]


def get_init_inputs():
    return [bins]
