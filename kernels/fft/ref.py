# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 12
N = 256


class Model(nn.Module):
    """Discrete Fourier transform of each row, real and imaginary parts apart."""

    def forward(self, real, imaginary):
        y = torch.fft.fft(torch.complex(real, imaginary), dim=-1)
        return torch.real(y).contiguous(), torch.imag(y).contiguous()


def get_inputs():
    return [torch.randn(batch_size, N), torch.randn(batch_size, N)]


def get_init_inputs():
    return []
