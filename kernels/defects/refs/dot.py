# SPDX-License-Identifier: Apache-2.0
"""Dot product of two vectors."""
import torch
import torch.nn as nn

count = 3000


class Model(nn.Module):
    def forward(self, x, y):
        return (x * y).sum()


def get_inputs():
    return [torch.randn(count), torch.randn(count)]


def get_init_inputs():
    return []
