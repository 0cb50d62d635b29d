# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 32
dim = 1500


class Model(nn.Module):
    """Dot product of two tensors, as a tensor of one element."""

    def forward(self, a, b):
        return torch.sum(a * b).reshape(1)


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
