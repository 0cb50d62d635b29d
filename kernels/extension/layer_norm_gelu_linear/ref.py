# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 7
features = 24
outputs = 17


class Model(nn.Module):
    """Layer normalisation, GELU by tanh, linear."""

    def __init__(self, features, outputs):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.linear = nn.Linear(features, outputs)

    def forward(self, x):
        return self.linear(torch.nn.functional.gelu(self.norm(x), approximate="tanh"))


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return [features, outputs]
