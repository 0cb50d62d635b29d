# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 8
features = 6
height = 9
width = 7


class Model(nn.Module):
    """Batch normalisation in train mode: statistics of the batch, running ones updated."""

    def __init__(self, num_features):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features=num_features)

    def forward(self, x):
        return self.bn(x)


def get_inputs():
    return [torch.randn(batch_size, features, height, width)]


def get_init_inputs():
    return [features]
