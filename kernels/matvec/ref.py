# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

in_features = 777
out_features = 203


class Model(nn.Module):
    """A linear layer applied to one vector."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.randn(in_features)]


def get_init_inputs():
    return [in_features, out_features]
