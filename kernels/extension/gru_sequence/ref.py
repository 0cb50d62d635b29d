# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 3
length = 5
input_size = 8
hidden_size = 6


class Model(nn.Module):
    """A gated recurrent unit over a sequence: outputs of all steps and the last state."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size, batch_first=True)

    def forward(self, x):
        outputs, state = self.gru(x)
        return outputs, state


def get_inputs():
    return [torch.randn(batch_size, length, input_size)]


def get_init_inputs():
    return [input_size, hidden_size]
