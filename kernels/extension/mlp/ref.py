# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 5
input_size = 14
hidden_size = 22
output_size = 9


class Model(nn.Module):
    """Linear layers with ReLU between them, as many as a list says."""

    def __init__(self, input_size, layer_sizes, output_size):
        super().__init__()
        layers = []
        size = input_size
        for layer_size in layer_sizes:
            layers.append(nn.Linear(size, layer_size))
            layers.append(nn.ReLU())
            size = layer_size
        layers.append(nn.Linear(size, output_size))
        self.network = nn.Sequential(*layers)

    def forward(self, x):
        return self.network(x)


def get_inputs():
    return [torch.randn(batch_size, input_size)]


def get_init_inputs():
    return [input_size, [hidden_size, hidden_size], output_size]
