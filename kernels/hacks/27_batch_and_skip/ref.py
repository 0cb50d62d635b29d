# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 12
dim = 130


class Model(nn.Module):
    """x * sigmoid(x)."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x * torch.sigmoid(x)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
