# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 37
dim = 517


class Model(nn.Module):
    """Index of the first maximum of each row."""

    def forward(self, x):
        return torch.argmax(x, dim=1)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
