# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 11
length = 150


class Model(nn.Module):
    """A running sum of the elements that a mask of booleans lets through."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x, mask):
        return torch.cumsum(x * mask, dim=self.dim)


def get_inputs():
    return [torch.randn(batch_size, length), torch.randint(0, 2, (batch_size, length)).bool()]


def get_init_inputs():
    return [1]
