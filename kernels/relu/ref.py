# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 64
dim = 1031


class Model(nn.Module):
    """Rectified linear unit."""

    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
