# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 2
in_channels = 3
out_channels = 5
height = 13
width = 15


class Model(nn.Module):
    """Convolution, another bias, ReLU, and max pooling."""

    def __init__(self, in_channels, out_channels, kernel_size, pool):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=1)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))
        self.pool = nn.MaxPool2d(pool)

    def forward(self, x):
        return self.pool(torch.relu(self.conv(x) + self.bias))


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, 3, 2]
