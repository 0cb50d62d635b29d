# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 61
dim = 1009


class Model(nn.Module):
    """Sum of the squares of all elements, as a tensor of one element."""

    def forward(self, x):
        return torch.sum(x * x).reshape(1)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
