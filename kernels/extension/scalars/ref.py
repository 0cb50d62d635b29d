# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 6
dim = 45


class Model(nn.Module):
    """An input that is a float, one that is an int, and one that is a bool."""

    def __init__(self):
        super().__init__()

    def forward(self, x, alpha, shift, negate):
        y = x * alpha + shift
        return -y if negate else y


def get_inputs():
    return [torch.randn(batch_size, dim), 1.75, 3, True]


def get_init_inputs():
    return []
