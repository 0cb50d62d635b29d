# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 33
dim = 301


class Model(nn.Module):
    """Mean squared error, a scalar."""

    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        return torch.mean((predictions - targets) ** 2)


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
