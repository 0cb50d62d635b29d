# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 31
dim = 257


class Model(nn.Module):
    """Mean squared error, as a tensor of one element."""

    def forward(self, prediction, target):
        return F.mse_loss(prediction, target).reshape(1)


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
