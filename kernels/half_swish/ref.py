# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 23
dim = 501


class Model(nn.Module):
    """x * sigmoid(x) on half precision; computed in float, rounded once."""

    def forward(self, x):
        wide = x.float()
        return (wide * torch.sigmoid(wide)).half()


def get_inputs():
    return [torch.randn(batch_size, dim).half()]


def get_init_inputs():
    return []
