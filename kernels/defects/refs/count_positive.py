# SPDX-License-Identifier: Apache-2.0
"""Number of positive elements."""
import torch
import torch.nn as nn

count = 3000


class Model(nn.Module):
    def forward(self, x):
        return (x > 0).sum()


def get_inputs():
    return [torch.randn(count)]


def get_init_inputs():
    return []
