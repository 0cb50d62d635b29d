# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 21
dim = 401


class Model(nn.Module):
    """Leaky rectifier on double precision."""

    def __init__(self, slope):
        super().__init__()
        self.slope = slope

    def forward(self, x):
        return F.leaky_relu(x, self.slope)


def get_inputs():
    return [torch.randn(batch_size, dim, dtype=torch.float64)]


def get_init_inputs():
    return [0.1]
