# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 5
channels = 8
length = 40


class Model(nn.Module):
    """Average pooling over windows of a sequence."""

    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.pool = nn.AvgPool1d(kernel_size, stride=stride, padding=padding)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.randn(batch_size, channels, length)]


def get_init_inputs():
    return [4, 3, 1]
