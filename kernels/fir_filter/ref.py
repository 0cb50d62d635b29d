# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 6
length = 997
taps = 9


class Model(nn.Module):
    """Causal FIR filter of each row: y[t] = sum_k c[k] * x[t - k]."""

    def forward(self, x, c):
        total = c[0] * x
        for k in range(1, min(c.numel(), x.size(1))):
            total[:, k:] = total[:, k:] + c[k] * x[:, :-k]
        return total


def get_inputs():
    return [torch.randn(batch_size, length), torch.randn(taps)]


def get_init_inputs():
    return []
