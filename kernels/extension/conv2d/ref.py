# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 3
in_channels = 5
out_channels = 6
kernel_size = 3
height = 14
width = 17


class Model(nn.Module):
    """A convolution with stride and padding, then a bias of its own and ReLU."""

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, bias_shape):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        x = self.conv(x)
        x = torch.relu(x)
        return x + self.bias


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, 2, 1, (out_channels, 1, 1)]
