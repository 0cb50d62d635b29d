# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 50
dim = 1100


class Model(nn.Module):
    """L1 norm of the whole tensor, as a tensor of one element."""

    def forward(self, x):
        return torch.sum(torch.abs(x)).reshape(1)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
