# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 2
in_channels = 5
out_channels = 7
height = 23
width = 19
kernel_size = 3
stride = 2
padding = 1


class Model(nn.Module):
    """Two-dimensional convolution with bias."""

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
