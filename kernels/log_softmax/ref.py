# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 40
dim = 1234


class Model(nn.Module):
    """Logarithm of the softmax over the last dimension."""

    def forward(self, x):
        return torch.log_softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
