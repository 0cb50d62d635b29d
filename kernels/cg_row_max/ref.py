# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 41
dim = 603


class Model(nn.Module):
    """Maximum of each row."""

    def forward(self, x):
        return torch.amax(x, dim=1)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
