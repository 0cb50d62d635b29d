# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

batch_size = 11
dim = 26


class Model(nn.Module):
    """Triplet margin loss, a mean."""

    def __init__(self, margin=1.0):
        super().__init__()
        self.loss_fn = torch.nn.TripletMarginLoss(margin=margin)

    def forward(self, anchor, positive, negative):
        return self.loss_fn(anchor, positive, negative)


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return [1.0]
