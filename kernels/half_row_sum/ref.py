# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 29
dim = 411


class Model(nn.Module):
    """Row sums of half precision, accumulated in float."""

    def forward(self, x):
        return x.float().sum(dim=1).half()


def get_inputs():
    return [torch.randn(batch_size, dim).half()]


def get_init_inputs():
    return []
