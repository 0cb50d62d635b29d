# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 2
channels = 9
height = 37
width = 29


class Model(nn.Module):
    """Depthwise 3x3 convolution with padding one."""

    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels]
