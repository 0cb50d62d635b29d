# SPDX-License-Identifier: Apache-2.0
"""Matrix product."""
import torch
import torch.nn as nn

m = 40
k = 56
n = 72


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(m, k), torch.randn(k, n)]


def get_init_inputs():
    return []
