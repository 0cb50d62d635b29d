# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 24
dim = 1013


class Model(nn.Module):
    """Running sum along each row."""

    def forward(self, x):
        return torch.cumsum(x, dim=1)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
