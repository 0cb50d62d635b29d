# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

M = 150
N = 130
K = 90


class Model(nn.Module):
    """Matrix product."""

    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
