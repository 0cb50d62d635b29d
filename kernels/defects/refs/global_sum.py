# SPDX-License-Identifier: Apache-2.0
"""Sum of all elements."""
import torch
import torch.nn as nn

count = 3000


class Model(nn.Module):
    def forward(self, x):
        return x.sum()


def get_inputs():
    return [torch.rand(count)]


def get_init_inputs():
    return []
