# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 19
dim = 333


class Model(nn.Module):
    """x * scale + shift per column on bfloat16; computed in float, rounded once."""

    def forward(self, x, scale, shift):
        return (x.float() * scale.float() + shift.float()).bfloat16()


def get_inputs():
    x = torch.randn(batch_size, dim).bfloat16()
    return [x, torch.randn(dim).bfloat16(), torch.randn(dim).bfloat16()]


def get_init_inputs():
    return []
