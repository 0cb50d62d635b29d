# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 37
dim = 777


class Model(nn.Module):
    """alpha * x + y with a scalar taken from the constructor."""

    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, x, y):
        return self.alpha * x + y


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return [0.75]
