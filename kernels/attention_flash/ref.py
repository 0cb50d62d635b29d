# SPDX-License-Identifier: Apache-2.0
import math

import torch
import torch.nn as nn

batch_size = 2
heads = 2
length = 61
head_dim = 40


class Model(nn.Module):
    """Causal scaled dot-product attention."""

    def forward(self, q, k, v):
        n = q.size(-2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
        return torch.matmul(torch.softmax(scores, dim=-1), v)


def get_inputs():
    return [torch.randn(batch_size, heads, length, head_dim) for _ in range(3)]


def get_init_inputs():
    return []
