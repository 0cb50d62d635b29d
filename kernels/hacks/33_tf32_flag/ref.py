# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

M = 20
K = 24
N = 18


class Model(nn.Module):
    """A product of two matrices."""

    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
