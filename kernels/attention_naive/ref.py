# SPDX-License-Identifier: Apache-2.0
import math

import torch
import torch.nn as nn

batch_size = 2
heads = 3
length = 37
head_dim = 24


class Model(nn.Module):
    """Scaled dot-product attention."""

    def forward(self, q, k, v):
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        return torch.matmul(torch.softmax(scores, dim=-1), v)


def get_inputs():
    return [torch.randn(batch_size, heads, length, head_dim) for _ in range(3)]


def get_init_inputs():
    return []
