# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 2
channels = 6
height = 11
width = 14


class Model(nn.Module):
    """A convolution of each channel by itself."""

    def __init__(self, channels, kernel_size, stride, padding):
        super().__init__()
        self.conv2d = nn.Conv2d(channels, channels, kernel_size, stride=stride, padding=padding, groups=channels, bias=False)

    def forward(self, x):
        return self.conv2d(x)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, 3, 1, 1]
