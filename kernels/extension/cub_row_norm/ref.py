# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 12
dim = 333


class Model(nn.Module):
    """Every row divided by its Euclidean norm."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x / torch.norm(x, p=2, dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
