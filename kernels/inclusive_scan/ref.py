# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

N = 20011


class Model(nn.Module):
    """Inclusive scan of one long vector of non-negative numbers."""

    def forward(self, x):
        return torch.cumsum(x, dim=0)


def get_inputs():
    return [torch.rand(N)]


def get_init_inputs():
    return []
