# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 83
classes = 101


class Model(nn.Module):
    """Mean cross entropy of logits against class labels, as a tensor of one element."""

    def forward(self, logits, labels):
        return F.cross_entropy(logits, labels).reshape(1)


def get_inputs():
    return [torch.randn(batch_size, classes), torch.randint(0, classes, (batch_size,))]


def get_init_inputs():
    return []
