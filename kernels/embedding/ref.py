# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

vocabulary = 211
dim = 65
batch_size = 7
length = 23


class Model(nn.Module):
    """Table lookup."""

    def __init__(self, vocabulary, dim):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)

    def forward(self, tokens):
        return self.table(tokens)


def get_inputs():
    return [torch.randint(0, vocabulary, (batch_size, length))]


def get_init_inputs():
    return [vocabulary, dim]
