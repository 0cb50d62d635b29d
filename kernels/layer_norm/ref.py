# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 48
dim = 770


class Model(nn.Module):
    """Layer normalisation with a learned scale and shift."""

    def __init__(self, dim, eps):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=eps)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return [dim, 1e-5]
