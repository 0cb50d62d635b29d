# SPDX-License-Identifier: Apache-2.0
"""Softmax over the last dimension."""
import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 6
cols = 700


class Model(nn.Module):
    def forward(self, x):
        return F.softmax(x, dim=1)


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
