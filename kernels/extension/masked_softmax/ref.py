# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 8
length = 33


class Model(nn.Module):
    """Softmax in which a mask of booleans takes elements out; a large negative number stands for them."""

    def __init__(self):
        super().__init__()

    def forward(self, x, mask):
        return torch.softmax(x.masked_fill(mask, -1e4), dim=-1)


def get_inputs():
    return [torch.randn(batch_size, length), torch.randint(0, 2, (batch_size, length)).bool()]


def get_init_inputs():
    return []
