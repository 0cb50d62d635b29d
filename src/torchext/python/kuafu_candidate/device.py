# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the simulated GPU. Two modes do it:

Functions sees the calls as Python wrote them. It takes "cuda" and "musa" out of them, answers what
depends on the device (`x.device`, `x.is_cuda`), and switches PyTorch's allocator to the device when
a result belongs there. A tensor is on the GPU if its memory is.

Operators sees what each call came to: the operators of ATen. It tells the simulated device which
memory they wrote, and keeps the list that the legality gate reads."""

import contextlib
import sys

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from . import native

GPUS = ("cuda", "musa")
_real_device = torch.device
GPU, CPU = _real_device("cuda", 0), _real_device("cpu")
_Tensor = torch.Tensor


class _DeviceType(type):
    def __instancecheck__(cls, value):
        return isinstance(value, _real_device)


class device(metaclass=_DeviceType):
    """torch.device that knows the other vendor's name; PyTorch itself would refuse it."""

    def __new__(cls, *args, **kwargs):
        if args and isinstance(args[0], str) and args[0].split(":")[0] == "musa":
            args = ("cuda" + args[0][4:],) + args[1:]
        return _real_device(*args, **kwargs)


def is_gpu(where):
    """For what PyTorch accepts as a device."""
    if isinstance(where, _real_device):
        return where.type in GPUS
    if isinstance(where, str):
        return where.split(":")[0] in GPUS
    if isinstance(where, int) and not isinstance(where, bool):
        return True
    raise TypeError(f"{where!r} is not a device")


def _is_place(value):
    return isinstance(value, _real_device) or isinstance(value, str) and value.split(":")[0] in (
        "cpu", *GPUS) or type(value) is int


def on_device(tensor):
    address = tensor.data_ptr()
    # Without memory it fits either place; the GPU is where a candidate's tensors usually are.
    return address == 0 or native.on_device(address) != 0


def tensors_in(values, depth=3):
    for value in values:
        if isinstance(value, _Tensor):
            yield value
        elif isinstance(value, (tuple, list)) and depth > 0:
            yield from tensors_in(value, depth - 1)
        elif isinstance(value, dict) and depth > 0:
            yield from tensors_in(value.values(), depth - 1)


def counts(name, args):
    """Whether the operator adds to a whole number in place: a batch norm counts its batches. No
    part of a result can come of it, other than a number of that kind."""
    return name == "aten::add_" and all(
        a.dim() == 0 and a.dtype == torch.int64 for a in tensors_in(args))


class State:
    """What the two modes share."""

    def __init__(self, operators, candidate_file):
        """`operators`: the policy's names, without namespace: those that forward may dispatch, and
        of these the ones that only view, create or copy."""
        self.internal = 0  # the harness itself is at work
        self.recording = False
        self.allowed = {"aten::" + n for n in operators["forward"]}
        self.kinds = {}
        for kind, letter in (("copy", "c"), ("create", "r"), ("view", "v")):
            self.kinds.update({"aten::" + n: letter for n in operators[kind]})
        # They write nothing: what they return is memory as it was found.
        self.kinds.update({"aten::" + n: "v" for n in ("empty", "empty_like", "empty_strided",
                                                       "new_empty", "new_empty_strided")})
        self.candidate_file = candidate_file
        self.operators = {}  # not allowed: name -> line of the first call

    @contextlib.contextmanager
    def by_harness(self):
        self.internal += 1
        try:
            yield
        finally:
            self.internal -= 1

    def line(self):
        """Where the candidate's file is now."""
        frame = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename == self.candidate_file:
                return frame.f_lineno
            frame = frame.f_back
        return 0


@contextlib.contextmanager
def allocating(gpu):
    flag = native.allocate_on_device
    before = flag.value
    flag.value = 1 if gpu else 0
    try:
        yield
    finally:
        flag.value = before


def _no_numpy(self, *args, **kwargs):
    if on_device(self) and self.numel() > 0:
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to "
                        "copy the tensor to host memory first.")
    return _Tensor.numpy(self, *args, **kwargs)


class Functions(TorchFunctionMode):
    def __init__(self, state):
        super().__init__()
        self.state = state
        get = lambda name: getattr(_Tensor, name).__get__  # noqa: E731
        self.special = {
            get("device"): lambda t: GPU if on_device(t) else CPU,
            get("is_cuda"): on_device,
            get("is_cpu"): lambda t: not on_device(t),
            _Tensor.get_device: lambda t: 0 if on_device(t) else -1,
            _Tensor.cuda: lambda t, *a, **k: self.move(t, True),
            _Tensor.cpu: lambda t, *a, **k: self.move(t, False),
            _Tensor.to: self.to,
            _Tensor.type: self.type,
            _Tensor.numpy: _no_numpy,
            _Tensor.__array__: _no_numpy,
            _Tensor.pin_memory: lambda t, *a, **k: t,
            _Tensor.is_pinned: lambda t, *a, **k: False,
            _Tensor.record_stream: lambda t, s: None,
        }

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.state.internal:
            return func(*args, **kwargs)
        special = self.special.get(func)
        if special is not None:
            return special(*args, **kwargs)
        gpu = None
        if kwargs.get("device") is not None:
            gpu = is_gpu(kwargs["device"])
            kwargs = dict(kwargs, device=CPU)
            if kwargs.get("pin_memory"):
                kwargs["pin_memory"] = False
        if gpu is None:
            gpu = any(on_device(t) for t in tensors_in((args, kwargs)))
        with allocating(gpu):
            return func(*args, **kwargs)

    def move(self, tensor, gpu):
        if on_device(tensor) == gpu and tensor.numel() > 0:
            return tensor
        with allocating(gpu):
            return tensor.clone()

    def to(self, tensor, *args, **kwargs):
        gpu = None
        rest = []
        for argument in args:
            if _is_place(argument):
                gpu = is_gpu(argument)
            elif isinstance(argument, _Tensor):
                gpu = on_device(argument)
                rest.append(argument.dtype)
            else:
                rest.append(argument)
        place = kwargs.pop("device", None)
        if place is not None:
            gpu = is_gpu(place)
        other = kwargs.pop("other", None)
        if other is not None:
            gpu = on_device(other)
            rest.append(other.dtype)
        if gpu is None:
            gpu = on_device(tensor)
        with allocating(gpu):
            result = tensor.to(*rest, **kwargs) if rest or kwargs else tensor
        return self.move(result, gpu) if result is tensor else result

    def type(self, tensor, dtype=None, non_blocking=False):
        if dtype is None:
            name = tensor.type()
            return name.replace("torch.", "torch.cuda.") if on_device(tensor) else name
        gpu = on_device(tensor)
        if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
            gpu, dtype = True, dtype.replace("torch.cuda.", "torch.")
        with allocating(gpu):
            result = tensor.type(dtype)
        return self.move(result, gpu)


class Operators(TorchDispatchMode):
    def __init__(self, state):
        super().__init__()
        self.state = state
        self.written = {}  # operator -> positions of the arguments that it changes

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        state = self.state
        name = func._schema.name
        if state.recording and not state.internal and name not in state.allowed \
                and name not in state.operators and not counts(name, args):
            state.operators[name] = state.line()
        kind = state.kinds.get(name, "o")
        if kind == "v":
            return result
        changed = self.written.get(func)
        if changed is None:
            changed = [(i, a.name) for i, a in enumerate(func._schema.arguments)
                       if a.alias_info is not None and a.alias_info.is_write]
            self.written[func] = changed
        if changed:
            written = [args[i] if i < len(args) else kwargs.get(n) for i, n in changed]
        else:
            written = [result]
        addresses = [t.data_ptr() for t in tensors_in(written)]
        if addresses:
            read = [t.data_ptr() for t in tensors_in((args, kwargs))]
            # The other side keeps the name; what is written is not read.
            native.operated(name.encode(), ord(kind),
                            [a for a in read if a not in addresses or kind == "o"], addresses)
        return result
