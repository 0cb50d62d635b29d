# SPDX-License-Identifier: Apache-2.0
import math

import torch
import torch.nn as nn

options = 4001
rate = 0.02
volatility = 0.3


class Model(nn.Module):
    """Black-Scholes prices of European calls and puts."""

    def forward(self, spot, strike, years):
        root = volatility * torch.sqrt(years)
        d1 = (torch.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / root
        d2 = d1 - root
        cdf1 = 0.5 * torch.erfc(-d1 / math.sqrt(2.0))
        cdf2 = 0.5 * torch.erfc(-d2 / math.sqrt(2.0))
        discounted = strike * torch.exp(-rate * years)
        call = spot * cdf1 - discounted * cdf2
        return call, call - spot + discounted


def get_inputs():
    spot = torch.rand(options) * 50.0 + 75.0
    strike = torch.rand(options) * 50.0 + 75.0
    return [spot, strike, torch.rand(options) * 2.0 + 0.25]


def get_init_inputs():
    return []
