# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 7
length = 6
vocabulary = 40
dim = 18


class Model(nn.Module):
    """Sums of rows of a table, a bag of integers for each output."""

    def __init__(self, vocabulary, dim):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocabulary, dim, mode="sum")

    def forward(self, tokens):
        return self.bag(tokens)


def get_inputs():
    return [torch.randint(0, vocabulary, (batch_size, length))]


def get_init_inputs():
    return [vocabulary, dim]
