# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 5
features = 4
height = 6
width = 9


class Model(nn.Module):
    """Batch normalisation in train mode with another momentum and eps, then ReLU."""

    def __init__(self, num_features, momentum, eps):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features, eps=eps, momentum=momentum)

    def forward(self, x):
        return torch.relu(self.bn(x))


def get_inputs():
    return [torch.randn(batch_size, features, height, width)]


def get_init_inputs():
    return [features, 0.3, 1e-3]
