# SPDX-License-Identifier: Apache-2.0
"""Dense transpose."""
import torch
import torch.nn as nn

rows = 70
cols = 50


class Model(nn.Module):
    def forward(self, x):
        return x.t().contiguous()


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
