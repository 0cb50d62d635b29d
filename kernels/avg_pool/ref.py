# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 3
channels = 5
height = 33
width = 26
kernel_size = 3


class Model(nn.Module):
    """Two-dimensional average pooling; the stride is the window."""

    def __init__(self, kernel_size):
        super().__init__()
        self.kernel_size = kernel_size

    def forward(self, x):
        return F.avg_pool2d(x, self.kernel_size)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [kernel_size]
