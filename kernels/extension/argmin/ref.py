# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 6
rows = 23
columns = 15


class Model(nn.Module):
    """Where the smallest element of a dimension is: int64."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.argmin(x, dim=self.dim)


def get_inputs():
    return [torch.randn(batch_size, rows, columns)]


def get_init_inputs():
    return [1]
