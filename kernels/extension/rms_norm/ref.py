# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

rows = 10
features = 130


class Model(nn.Module):
    """Root mean square normalisation of the last dimension with a weight."""

    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        rms = torch.sqrt(torch.mean(x * x, dim=-1, keepdim=True) + self.eps)
        return x / rms * self.weight


def get_inputs():
    return [torch.randn(rows, features)]


def get_init_inputs():
    return [features]
