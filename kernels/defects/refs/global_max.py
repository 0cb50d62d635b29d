# SPDX-License-Identifier: Apache-2.0
"""Maximum of all elements."""
import torch
import torch.nn as nn

count = 3000


class Model(nn.Module):
    def forward(self, x):
        return x.max()


def get_inputs():
    return [torch.randn(count)]


def get_init_inputs():
    return []
