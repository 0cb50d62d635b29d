# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

M = 70
K = 50
N = 45


class Model(nn.Module):
    """A product of two matrices."""

    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return torch.matmul(A, B)


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
