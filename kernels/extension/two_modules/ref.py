# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 14
features = 65


class Model(nn.Module):
    """Scale, swish, and then a normalisation of each row by its root mean square."""

    def __init__(self, features, eps):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(features))
        self.eps = eps

    def forward(self, x):
        x = x * self.scale
        x = x * torch.sigmoid(x)
        return x / torch.sqrt(torch.mean(x ** 2, dim=1, keepdim=True) + self.eps)


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return [features, 1e-5]
