# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 2
in_channels = 6
out_channels = 18
height = 21
width = 17
kernel_size = 3
padding = 1


class Model(nn.Module):
    """Two-dimensional convolution without bias, stride one."""

    def __init__(self, in_channels, out_channels, kernel_size, padding):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding, bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, padding]
