# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 5
input_size = 12
hidden_size = 10


class Model(nn.Module):
    """One step of a gated recurrent unit."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.cell = nn.GRUCell(input_size, hidden_size)

    def forward(self, x, h):
        return self.cell(x, h)


def get_inputs():
    return [torch.randn(batch_size, input_size), torch.randn(batch_size, hidden_size)]


def get_init_inputs():
    return [input_size, hidden_size]
