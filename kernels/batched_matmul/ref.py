# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 5
M = 33
N = 49
K = 37


class Model(nn.Module):
    """A product of matrices for each sample."""

    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.randn(batch_size, M, K), torch.randn(batch_size, K, N)]


def get_init_inputs():
    return []
