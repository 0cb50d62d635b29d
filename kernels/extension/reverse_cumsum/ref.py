# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 9
length = 140


class Model(nn.Module):
    """A running sum from the end."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.cumsum(x.flip(self.dim), dim=self.dim).flip(self.dim)


def get_inputs():
    return [torch.randn(batch_size, length)]


def get_init_inputs():
    return [1]
