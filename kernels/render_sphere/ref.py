# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

height = 60
width = 80


class Model(nn.Module):
    """Lambert shading of a unit sphere at distance three, seen through given ray directions."""

    def forward(self, rays):
        d = rays / torch.sqrt((rays * rays).sum(-1, keepdim=True))
        b = 3.0 * d[..., 2]
        disc = b * b - 8.0
        edge = torch.clamp(disc, min=0.0, max=1.0)  # fades to black at the silhouette
        t = b - torch.sqrt(torch.clamp(disc, min=0.0))
        normal = t[..., None] * d - torch.tensor([0.0, 0.0, 3.0], dtype=d.dtype)
        light = torch.tensor([0.48, 0.64, -0.6], dtype=d.dtype)
        shade = torch.clamp((normal * light).sum(-1), min=0.0)
        return edge * (0.1 + 0.9 * shade)


def get_inputs():
    y = torch.linspace(-0.45, 0.45, height)[:, None].expand(height, width)
    x = torch.linspace(-0.6, 0.6, width)[None, :].expand(height, width)
    return [torch.stack([x, y, torch.ones(height, width)], dim=-1) + 0.0001 * torch.rand(3)]


def get_init_inputs():
    return []
