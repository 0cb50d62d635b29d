# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 3
channels = 5
height = 12
width = 10


class Model(nn.Module):
    """Normalisation of each plane by its own mean and variance, no parameters."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.InstanceNorm2d(num_features=channels)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels]
