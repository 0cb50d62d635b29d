# SPDX-License-Identifier: Apache-2.0
"""References that name a GPU run on the CPU all the same: .cuda(), .to("cuda"), device="cuda:0".
What they compute does not depend on where."""

import torch
from torch.overrides import TorchFunctionMode

GPUS = ("cuda", "musa")
_MOVES = {torch.Tensor.cuda}


def _on_cpu(value):
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type in GPUS else value
    if isinstance(value, str) and value.split(":")[0] in GPUS:
        return "cpu"
    return value


class OnCpu(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in _MOVES:
            return args[0]
        kwargs = kwargs or {}
        if "device" in kwargs:
            kwargs = dict(kwargs, device=_on_cpu(kwargs["device"]))
        if func is torch.Tensor.to:
            args = (args[0],) + tuple(_on_cpu(a) for a in args[1:])
        return func(*args, **kwargs)


def install():
    """torch.device("cuda") as a default or as an argument is a name only; what asks the driver
    would fail."""
    torch.nn.Module.cuda = lambda self, device=None: self
    torch.cuda.synchronize = lambda device=None: None
    torch.cuda.empty_cache = lambda: None
    torch.cuda.manual_seed = torch.cuda.manual_seed_all = lambda seed: None
    torch.cuda.set_device = lambda device: None
