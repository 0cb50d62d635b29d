# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 13
dim = 205


class Model(nn.Module):
    """The smallest value of each row and where it is: two outputs, one of them integers."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        values, indices = torch.min(x, dim=1)
        return values, indices


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
