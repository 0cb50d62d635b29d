# SPDX-License-Identifier: Apache-2.0
"""Elementwise 2x + 1 over a vector."""
import torch
import torch.nn as nn

count = 3000


class Model(nn.Module):
    def forward(self, x):
        return 2 * x + 1


def get_inputs():
    return [torch.randn(count)]


def get_init_inputs():
    return []
