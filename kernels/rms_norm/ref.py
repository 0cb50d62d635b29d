# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 96
dim = 515


class Model(nn.Module):
    """Root-mean-square normalisation as used in language models."""

    def __init__(self, dim, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(dim) + 0.5)
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(torch.mean(x * x, dim=-1, keepdim=True) + self.eps) * self.weight


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return [dim, 1e-6]
