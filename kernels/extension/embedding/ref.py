# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 7
length = 9
vocabulary = 50
dim = 20


class Model(nn.Module):
    """A table lookup by integers, scaled."""

    def __init__(self, vocabulary, dim, scale):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)
        self.scale = scale

    def forward(self, tokens):
        return self.table(tokens) * self.scale


def get_inputs():
    return [torch.randint(0, vocabulary, (batch_size, length))]


def get_init_inputs():
    return [vocabulary, dim, 2.5]
