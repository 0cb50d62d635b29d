# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.no_such_method()


def get_inputs():
    return [torch.rand(16, 16)]


def get_init_inputs():
    return []
