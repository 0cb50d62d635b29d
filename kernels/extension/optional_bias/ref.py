# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 10
in_features = 33
out_features = 21


class Model(nn.Module):
    """Two linear layers, one of them without a bias, with a leaky rectifier between."""

    def __init__(self, in_features, out_features, slope):
        super().__init__()
        self.first = nn.Linear(in_features, out_features)
        self.second = nn.Linear(out_features, out_features, bias=False)
        self.slope = slope

    def forward(self, x):
        x = torch.nn.functional.leaky_relu(self.first(x), negative_slope=self.slope)
        return self.second(x)


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, 0.1]
