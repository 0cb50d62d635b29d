# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 4
rows = 13
cols = 9


class Model(nn.Module):
    """Each matrix transposed, scaled by a diagonal."""

    def __init__(self):
        super().__init__()

    def forward(self, x, diagonal):
        return diagonal.unsqueeze(1) * x.transpose(1, 2)


def get_inputs():
    return [torch.randn(batch_size, rows, cols), torch.randn(cols)]


def get_init_inputs():
    return []
