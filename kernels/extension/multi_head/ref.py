# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 2
length = 7
heads = 3
head_dim = 4


class Model(nn.Module):
    """Self-attention with a joint projection, several heads and a projection of the result."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5, dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, t, c))


def get_inputs():
    return [torch.randn(batch_size, length, heads * head_dim)]


def get_init_inputs():
    return [heads * head_dim, heads]
