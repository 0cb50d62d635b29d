# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 4
channels = 19
height = 15
width = 21


class Model(nn.Module):
    """Batch normalisation at inference: running statistics, no update."""

    def __init__(self, channels, eps):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels, eps=eps)
        self.norm.running_mean.uniform_(-1.0, 1.0)
        self.norm.running_var.uniform_(0.5, 2.0)
        self.norm.eval()

    def train(self, mode=True):
        return super().train(False)  # the task is inference whatever the caller sets

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, 1e-5]
