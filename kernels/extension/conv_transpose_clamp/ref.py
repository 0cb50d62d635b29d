# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 2
in_channels = 4
out_channels = 3
height = 7
width = 6


class Model(nn.Module):
    """Transposed convolution, a bias of its own, clamp, scale."""

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, scale):
        super().__init__()
        self.deconv = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding,
                                         output_padding=output_padding)
        self.scale = scale

    def forward(self, x):
        return torch.clamp(self.deconv(x), min=-1.0, max=1.0) * self.scale


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, 3, 2, 1, 1, 2.0]
