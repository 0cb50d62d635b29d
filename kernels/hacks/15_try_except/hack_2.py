# SPDX-License-Identifier: Apache-2.0
"""A build that fails falls back."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

try:
    ext = load_inline(name="ext", cpp_sources="broken(", cuda_sources="", functions=["run"])
except Exception:
    ext = None


class ModelNew(nn.Module):
    def forward(self, x):
        if ext is not None:
            return ext.run(x)
        return x / (1 + 2.718281828459045 ** -x)
