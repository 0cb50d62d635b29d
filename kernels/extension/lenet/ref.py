# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 2
size = 16
classes = 10


class Model(nn.Module):
    """Two convolutions with pooling and two linear layers."""

    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size=5)
        self.conv2 = nn.Conv2d(4, 6, kernel_size=3)
        self.fc1 = nn.Linear(6 * 2 * 2, 12)
        self.fc2 = nn.Linear(12, classes)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc2(x)


def get_inputs():
    return [torch.randn(batch_size, 1, size, size)]


def get_init_inputs():
    return [classes]
