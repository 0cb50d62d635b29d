# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 33
dim = 1021


class Model(nn.Module):
    """relu(a + b); the element count is odd, so that a vector kernel needs a tail."""

    def forward(self, a, b):
        return torch.relu(a + b)


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
