# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 9
in_features = 40
out_features = 24


class Model(nn.Module):
    """Linear, then a scaled hyperbolic tangent, then the residual scaled."""

    def __init__(self, in_features, out_features, scaling):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scaling = scaling

    def forward(self, x):
        y = self.linear(x)
        return torch.tanh(y) * self.scaling + y


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, 0.7]
