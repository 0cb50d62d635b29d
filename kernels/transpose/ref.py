# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

M = 193
N = 257


class Model(nn.Module):
    """Matrix transpose into contiguous memory."""

    def forward(self, x):
        return x.t().contiguous()


def get_inputs():
    return [torch.randn(M, N)]


def get_init_inputs():
    return []
