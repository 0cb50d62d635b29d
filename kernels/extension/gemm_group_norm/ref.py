# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 6
in_features = 20
groups = 4
per_group = 6


class Model(nn.Module):
    """Linear, group normalisation, hard tanh."""

    def __init__(self, in_features, out_features, num_groups, low, high):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.group_norm = nn.GroupNorm(num_groups, out_features)
        self.hardtanh = nn.Hardtanh(min_val=low, max_val=high)

    def forward(self, x):
        return self.hardtanh(self.group_norm(self.gemm(x)))


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, groups * per_group, groups, -0.8, 0.9]
