# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 8
N = 1000


class Model(nn.Module):
    """One smoothing step (1/4, 1/2, 1/4) along each row; the two ends are kept."""

    def forward(self, x):
        inner = 0.25 * x[:, :-2] + 0.5 * x[:, 1:-1] + 0.25 * x[:, 2:]
        return torch.cat([x[:, :1], inner, x[:, -1:]], dim=1)


def get_inputs():
    return [torch.randn(batch_size, N)]


def get_init_inputs():
    return []
