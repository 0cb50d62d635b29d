# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 2
channels = 3
depth = 9
height = 8
width = 7


class Model(nn.Module):
    """Average pooling in three dimensions."""

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.pool = nn.AvgPool3d(kernel_size, stride=stride, padding=padding)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.randn(batch_size, channels, depth, height, width)]


def get_init_inputs():
    return [3, 2, 1]
