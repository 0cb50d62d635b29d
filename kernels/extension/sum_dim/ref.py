# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 6
dim1 = 70
dim2 = 45


class Model(nn.Module):
    """Sum over one dimension, which is kept with size one."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.sum(x, dim=self.dim, keepdim=True)


def get_inputs():
    return [torch.randn(batch_size, dim1, dim2)]


def get_init_inputs():
    return [1]
