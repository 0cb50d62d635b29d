# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 20
dim = 301
K = 5


class Model(nn.Module):
    """The K largest values of each row, in descending order."""

    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        return torch.topk(x, self.k, dim=1).values


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return [K]
