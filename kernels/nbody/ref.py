# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

bodies = 197
softening = 0.01


class Model(nn.Module):
    """Gravitational acceleration of each body; softened, unit constant."""

    def forward(self, position, mass):
        delta = position[None, :, :] - position[:, None, :]
        distance2 = (delta * delta).sum(-1) + softening
        weight = mass[None, :] / (distance2 * torch.sqrt(distance2))
        return (weight[:, :, None] * delta).sum(1)


def get_inputs():
    return [torch.randn(bodies, 3), torch.rand(bodies) + 0.5]


def get_init_inputs():
    return []
