# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 19
classes = 21


class Model(nn.Module):
    """Mean cross entropy of logits against classes given as integers."""

    def __init__(self):
        super().__init__()

    def forward(self, logits, labels):
        return torch.nn.functional.cross_entropy(logits, labels)


def get_inputs():
    return [torch.randn(batch_size, classes), torch.randint(0, classes, (batch_size,))]


def get_init_inputs():
    return []
