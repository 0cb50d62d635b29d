# SPDX-License-Identifier: Apache-2.0
"""torch.cuda and torch.musa as far as they can be asked without a driver. Streams and events are
names only on this side: operators of PyTorch run in the order of the calls. The extension's own
streams are real."""

import contextlib
import sys
import types

import torch

from . import device


class Stream:
    cuda_stream = 0
    device = device.GPU

    def __init__(self, *args, **kwargs):
        pass

    def synchronize(self):
        pass

    def wait_stream(self, stream):
        pass

    def wait_event(self, event):
        pass

    def record_event(self, event=None):
        return event or Event()

    def query(self):
        return True

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Event:
    def __init__(self, *args, **kwargs):
        pass

    def record(self, stream=None):
        pass

    def wait(self, stream=None):
        pass

    def query(self):
        return True

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        raise RuntimeError("elapsed_time: nothing is timed on a simulated GPU")


class _Properties:
    def __repr__(self):
        return f"_CudaDeviceProperties({self.__dict__})"


def _context(*args, **kwargs):
    return contextlib.nullcontext()


_properties = _Properties()


def set_profile(profile):
    """name, major, minor, total_memory, multi_processor_count, warp_size."""
    _properties.__dict__.update(profile)


def _install_constructor():
    """torch.Tensor(2, 3) makes its tensor by an operator and then wants to give it its Python
    object, which a tensor that has come through a mode already has. torch.FloatTensor, the same
    thing by another way, hands out that object."""
    real = torch._C._TensorBase.__new__

    def new(cls, *args, **kwargs):
        if cls is torch.Tensor and torch.get_default_dtype() == torch.float32:
            return torch.FloatTensor(*args, **kwargs)
        return real(cls, *args, **kwargs)
    torch.Tensor.__new__ = new


def install():
    """Once in a process."""
    _install_constructor()
    torch.device = device.device
    cuda = torch.cuda
    answers = {
        "is_available": True, "device_count": 1, "current_device": 0, "is_initialized": True,
        "get_device_properties": _properties, "memory_allocated": 0, "memory_reserved": 0,
        "max_memory_allocated": 0, "max_memory_reserved": 0, "is_bf16_supported": True,
    }
    for name, value in answers.items():
        setattr(cuda, name, lambda *a, _value=value, **k: _value)
    cuda.get_device_name = lambda *a, **k: _properties.name
    cuda.get_device_capability = lambda *a, **k: (_properties.major, _properties.minor)
    cuda.get_arch_list = lambda: [f"sm_{_properties.major}{_properties.minor}"]
    for name in ("synchronize", "empty_cache", "set_device", "init", "manual_seed",
                 "manual_seed_all", "reset_peak_memory_stats", "ipc_collect", "_lazy_init",
                 "set_stream"):
        setattr(cuda, name, lambda *a, **k: None)
    cuda.Stream, cuda.Event = Stream, Event
    cuda.current_stream = cuda.default_stream = lambda *a, **k: Stream()
    cuda.stream = cuda.device = cuda.device_of = _context
    cuda.nvtx = types.SimpleNamespace(range_push=lambda *a: 0, range_pop=lambda: 0,
                                      range=_context, mark=lambda *a: None)
    torch.version.cuda = torch.version.cuda or "12.4"
    musa = types.ModuleType("torch.musa")
    musa.__dict__.update({k: v for k, v in vars(cuda).items() if not k.startswith("__")})
    torch.musa = sys.modules["torch.musa"] = musa
    torch.Tensor.musa = lambda self, *a, **k: self.cuda(*a, **k)
    torch.Tensor.is_musa = property(lambda self: self.is_cuda)
    torch.nn.Module.musa = lambda self, device=None: self.cuda(device)
    to = torch.nn.Module.to

    def module_to(self, *args, **kwargs):
        args = tuple(device.device(a) if isinstance(a, str) else a for a in args)
        if isinstance(kwargs.get("device"), str):
            kwargs = dict(kwargs, device=device.device(kwargs["device"]))
        return to(self, *args, **kwargs)
    torch.nn.Module.to = module_to


def install_extensions(loader):
    """The importable names under which candidates build extensions."""
    from torch.utils import cpp_extension
    cpp_extension.load_inline, cpp_extension.load = loader.load_inline, loader.load
    musa = types.ModuleType("torch_musa")
    musa.__path__ = []
    for name in ("utils", "utils.musa_extension", "utils.cpp_extension"):
        module = types.ModuleType("torch_musa." + name)
        module.__path__ = []
        module.load_inline, module.load = loader.load_inline, loader.load
        sys.modules["torch_musa." + name] = module
    musa.utils = sys.modules["torch_musa.utils"]
    musa.utils.musa_extension = sys.modules["torch_musa.utils.musa_extension"]
    sys.modules["torch_musa"] = musa
