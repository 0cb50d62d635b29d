# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 64
dim = 1000


class Model(nn.Module):
    """Sum of each row."""

    def forward(self, x):
        return torch.sum(x, dim=1)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
