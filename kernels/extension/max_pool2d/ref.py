# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 3
channels = 4
height = 19
width = 22


class Model(nn.Module):
    """Max pooling with kernel, stride, padding and dilation."""

    def __init__(self, kernel_size, stride, padding, dilation):
        super().__init__()
        self.maxpool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding, dilation=dilation)

    def forward(self, x):
        return self.maxpool(x)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [3, 2, 1, 2]
