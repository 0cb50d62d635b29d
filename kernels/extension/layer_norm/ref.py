# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 9
features = 7
dim1 = 10
dim2 = 11


class Model(nn.Module):
    """Layer normalisation over the last three dimensions."""

    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x):
        return self.ln(x)


def get_inputs():
    return [torch.randn(batch_size, features, dim1, dim2)]


def get_init_inputs():
    return [(features, dim1, dim2)]
