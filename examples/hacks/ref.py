# SPDX-License-Identifier: Apache-2.0
"""A layer whose last step repeats the one before it: in networks this is a clamp behind a ReLU, or
dropout that is switched off."""
import torch
import torch.nn as nn

batch = 32
features = 96


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, features) / features ** 0.5)

    def forward(self, x):
        x = torch.relu(torch.matmul(x, self.weight))
        return torch.clamp(x, min=0.0)


def get_inputs():
    return [torch.randn(batch, features)]


def get_init_inputs():
    return [features]
