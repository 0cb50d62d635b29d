# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 10
dim = 96


class Model(nn.Module):
    """Layer normalisation."""

    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return [dim]
