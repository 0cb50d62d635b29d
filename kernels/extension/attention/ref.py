# SPDX-License-Identifier: Apache-2.0
import math

import torch
import torch.nn as nn

batch_size = 2
heads = 2
length = 18
head_dim = 16


class Model(nn.Module):
    """Scaled dot product attention with an optional causal mask."""

    def __init__(self, causal):
        super().__init__()
        self.causal = causal

    def forward(self, q, k, v):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if self.causal:
            mask = torch.tril(torch.ones(q.size(-2), k.size(-2), dtype=torch.bool, device=q.device))
            scores = scores.masked_fill(~mask, float("-inf"))
        return torch.softmax(scores, dim=-1) @ v


def get_inputs():
    return [torch.randn(batch_size, heads, length, head_dim) for _ in range(3)]


def get_init_inputs():
    return [True]
