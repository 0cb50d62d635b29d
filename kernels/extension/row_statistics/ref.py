# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 9
dim = 77


class Model(nn.Module):
    """Mean, largest element and the length of each row: a list of outputs."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return [torch.mean(x, dim=1), torch.amax(x, dim=1), torch.norm(x, dim=1)]


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
