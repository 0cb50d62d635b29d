# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 4
groups = 3
channels_per_group = 5
height = 13
width = 17


class Model(nn.Module):
    """Group normalisation of images."""

    def __init__(self, groups, channels, eps):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels, eps=eps)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(batch_size, groups * channels_per_group, height, width)]


def get_init_inputs():
    return [groups, groups * channels_per_group, 1e-5]
