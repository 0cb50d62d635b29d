# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 9
inputs = 20
outputs = 14


class Model(nn.Module):
    """A linear layer and a rectifier."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.randn(batch_size, inputs)]


def get_init_inputs():
    return [inputs, outputs]
