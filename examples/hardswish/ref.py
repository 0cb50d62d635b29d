# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 64
dim = 1024


class Model(nn.Module):
    """Hard swish: x * relu6(x + 3) / 6."""

    def forward(self, x):
        return F.hardswish(x)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
