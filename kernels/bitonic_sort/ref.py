# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 17
dim = 200


class Model(nn.Module):
    """Each row in ascending order."""

    def forward(self, x):
        return torch.sort(x, dim=1).values


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
