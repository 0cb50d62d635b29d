# SPDX-License-Identifier: Apache-2.0
"""One forward pass in the precision that is wanted, by intercepting ATen operations.

  Meta      shapes only; nothing is computed and no memory is used
  Half      fp16 and bfloat16 as a device computes them: every operation in fp32, then rounded; the
            installed CPU PyTorch has no matmul or convolution for fp16
  Watched   as the file has it; records the trace and reduction lengths
  Run64     the truth: the same with every float in fp64, also where the file asks for another
            dtype. It can add rounding noise to every operation
"""

import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from . import ops
from .errors import BadFile
from .loader import FLOATS, HALVES

OPS_MAX = 65536
META_CALLS_MAX = 8192
INTEGRAL_MAX = 2.0 ** 24
SUBNORMAL_STEP = 2.0 ** -149  # of fp32

_with_device = {}


def takes_device(func):
    known = _with_device.get(func)
    if known is None:
        known = any(a.name == "device" for a in func._schema.arguments)
        _with_device[func] = known
    return known


def is_view(func):
    returns = func._schema.returns
    return bool(returns) and returns[0].alias_info is not None and not (
        returns[0].alias_info.is_write)


def is_inplace(func):
    returns = func._schema.returns
    return bool(returns) and returns[0].alias_info is not None and returns[0].alias_info.is_write


class TooLong(Exception):
    """More operations than a look at shapes is worth."""


class Meta(TorchDispatchMode):
    calls_max = META_CALLS_MAX

    def __init__(self):
        super().__init__()
        self.flops = 0
        self.ops = 0  # without views
        self.calls = 0
        self.too_long = False
        self.lengths = 0.0  # sum of log2 of the lengths of all reductions and selections
        self.norm_min = float("inf")  # fewest numbers that a normalisation takes together

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = ops.base_name(func)
        self.calls += 1
        if self.calls > self.calls_max:
            self.too_long = True
            raise TooLong()

        def to_meta(value):
            if isinstance(value, torch.Tensor) and value.device.type != "meta":
                return value.to("meta")
            return value
        args = tree_map(to_meta, args)
        kwargs = tree_map(to_meta, kwargs)
        if takes_device(func):
            kwargs["device"] = torch.device("meta")
            kwargs.pop("pin_memory", None)
        if name in ops.RANDOM or name == "lift_fresh":
            out = self.random(func, name, args, kwargs)
        elif name in _SHAPES:
            out = _SHAPES[name](*args, **kwargs)
        else:
            if name == "convolution":
                check_kernel(*args)
            out = func(*args, **kwargs)
        outs = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        self.seen(func, name, args, kwargs, outs)
        return out

    def seen(self, func, name, args, kwargs, outs):
        if not is_view(func):
            self.ops += 1
            self.flops += ops.flops(name, args, outs)
            length = ops.length(name, args, outs)
            self.lengths += math.log2(length)
            if name in ops.NORMS:
                self.norm_min = min(self.norm_min, length)

    @staticmethod
    def random(func, name, args, kwargs):
        """Shapes of random tensors; they have no meta kernels."""
        if args and isinstance(args[0], torch.Tensor):
            return args[0] if is_inplace(func) or name == "lift_fresh" else torch.empty_like(
                args[0], dtype=kwargs.get("dtype"))
        size = next((a for a in args if isinstance(a, (list, tuple))), None)
        dtype = kwargs.get("dtype")
        if name == "randperm":
            size = [args[0]]
        if dtype is None:
            dtype = torch.int64 if name in ("randint", "randperm") else torch.get_default_dtype()
        return torch.empty(size, dtype=dtype, device="meta")


def check_kernel(x, weight, bias, stride, padding, dilation, transposed, *_):
    """The shape function of a convolution accepts kernels larger than the image."""
    if transposed:
        return
    for size, kernel, pad, step in zip(x.shape[2:], weight.shape[2:], padding, dilation):
        if size + 2 * pad < step * (kernel - 1) + 1:
            raise RuntimeError("kernel size can't be greater than actual input size")


def _max_pool3d(x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
    def three(value):
        value = [value] if isinstance(value, int) else list(value)
        return value * 3 if len(value) == 1 else value
    kernel, padding, dilation = three(kernel), three(padding), three(dilation)
    stride = three(stride) if stride else kernel
    shape = list(x.shape)
    for i in range(3):
        room = shape[i - 3] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1
        shape[i - 3] = (room + (stride[i] - 1 if ceil_mode else 0)) // stride[i] + 1
        if shape[i - 3] < 1:
            raise RuntimeError("max_pool3d: output size is too small")
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)


def _some_value(x):
    """A number that depends on values, where only shapes exist."""
    if x.dtype in FLOATS:
        return 0.0
    return False if x.dtype == torch.bool else 0


# What the installed PyTorch has no shape function for.
_SHAPES = {"max_pool3d_with_indices": _max_pool3d, "_local_scalar_dense": _some_value}


class Half(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if is_view(func):
            return func(*args, **kwargs)
        tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        floats = [t for t in tensors if t.dtype in FLOATS]
        if not any(t.dtype in HALVES for t in floats) or ops.base_name(func) in (
                "_to_copy", "copy"):
            return func(*args, **kwargs)
        narrow = floats[0].dtype if all(t.dtype == floats[0].dtype for t in floats) else None
        if narrow is None:  # promotion ignores 0-d tensors
            sized = {t.dtype for t in floats if t.dim() > 0}
            narrow = sized.pop() if len(sized) == 1 else torch.float32

        def widen(value):
            if isinstance(value, torch.Tensor) and value.dtype in HALVES:
                return value.float()
            return value
        wide = tree_map(widen, args)
        out = func(*wide, **tree_map(widen, kwargs))
        if is_inplace(func):
            args[0].copy_(wide[0] if out is None else out)
            return args[0]

        def round_back(value):
            if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
                return value.to(narrow)
            return value
        if kwargs.get("dtype") is not None:
            return out
        return tree_map(round_back, out)


def refuse_random(name):
    raise BadFile(
        f"forward() draws random numbers ({name}), so that it has no single right answer; "
        "set dropout to 0 or call self.eval() in __init__")


class Watched(TorchDispatchMode):
    def __init__(self, integral=False):
        super().__init__()
        self.operations = []  # (name, inputs, results, shapes, K)
        self.values = {}  # id -> (tensor, number, K)
        self.count = 0
        self.names = set()
        self.draws = False  # forward() draws random numbers
        self.flops = 0
        self.reduction_max = 1
        self.integral = integral  # so far all operations are sums and products below 2^24

    def argument(self, value):
        """Numbers an entry argument."""
        number = self.count
        self.count += 1
        if isinstance(value, torch.Tensor):
            self.values[id(value)] = (value, number, 1)
        return number

    def reduction_of(self, tensor):
        known = self.values.get(id(tensor))
        return known[2] if known else self.reduction_max

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = ops.base_name(func)
        if name in ops.DRAWN:
            self.draws = True
        elif name in ops.RANDOM:
            refuse_random(name)
        out = func(*args, **kwargs)
        self.record(func, name, args, kwargs, out)
        return out

    def record(self, func, name, args, kwargs, out):
        outs = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        if len(self.operations) >= OPS_MAX:
            raise BadFile(f"forward() runs more than {OPS_MAX} operations", "exhausted")
        inputs, k_in = [], 1
        for value in tree_flatten((args, kwargs))[0]:
            if not isinstance(value, torch.Tensor):
                continue
            known = self.values.get(id(value))
            if known is None:
                known = self.constant(value)
            inputs.append(known[1])
            k_in = max(k_in, known[2])
        k = 1 if is_view(func) else ops.reduction(name, args, outs)
        if not is_view(func):
            self.names.add(name)
            self.flops += ops.flops(name, args, outs)
            self.check_integral(name, args, outs, k)
        self.reduction_max = max(self.reduction_max, k)
        results = []
        for tensor in outs:
            number = self.count
            self.count += 1
            results.append(number)
            self.values[id(tensor)] = (tensor, number, max(k, k_in))
        self.operations.append((str(func), inputs, results, [list(t.shape) for t in outs], k))

    def constant(self, tensor):
        """A tensor that neither an argument nor an operation has made."""
        number = self.count
        self.count += 1
        self.operations.append(("constant", [], [number], [list(tensor.shape)], 1))
        entry = (tensor, number, 1)
        self.values[id(tensor)] = entry
        return entry

    def check_integral(self, name, args, outs, k):
        if not self.integral:
            return
        if name not in ops.INTEGRAL:
            self.integral = False
            return
        for tensor in outs:
            if tensor.is_complex():
                self.integral = False
            elif tensor.is_floating_point() and tensor.numel() and "empty" not in name:
                bound = tensor.abs().max().item()
                if k > 1:
                    sizes = [a.abs().max().item() for a in args
                             if isinstance(a, torch.Tensor) and a.numel()]
                    bound = max(bound, k * max(sizes, default=0) ** 2)
                if not bound < INTEGRAL_MAX or not bool((tensor == tensor.round()).all()):
                    self.integral = False


_WIDE = {torch.float32: torch.float64, torch.float16: torch.float64, torch.bfloat16: torch.float64,
         torch.complex64: torch.complex128}


class Run64(Watched):
    def __init__(self, noise_seed=None, watch=True):
        super().__init__(integral=True)
        self.noise = None
        if noise_seed is not None:
            self.noise = torch.Generator().manual_seed(noise_seed)
        self.watch = watch

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = ops.base_name(func)
        if name in ops.DRAWN:
            return self.drawn(func, args, kwargs)
        if name in ops.RANDOM:
            refuse_random(name)
        if kwargs.get("dtype") in _WIDE:
            kwargs["dtype"] = _WIDE[kwargs["dtype"]]
        widened = []

        def widen(value):
            if isinstance(value, torch.Tensor) and value.dtype in _WIDE:
                widened.append(value)
                return value.to(_WIDE[value.dtype])
            return value
        if name != "_to_copy" and not is_inplace(func):
            args = tree_map(widen, args)
        before = None
        if self.noise is not None and is_inplace(func) and not is_view(func):
            before = [a.clone() if i == 0 and isinstance(a, torch.Tensor) else a
                      for i, a in enumerate(args)]
        out = func(*args, **kwargs)
        if self.noise is not None and not is_view(func):
            outs = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
            self.add_noise(name, func, before or args, kwargs, outs)
        if self.watch:
            self.record(func, name, args, kwargs, out)
        return out

    def drawn(self, func, args, kwargs):
        """What the reference in its own precision gets from the same seed."""
        self.draws = True
        like = bool(args) and isinstance(args[0], torch.Tensor)
        dtype = kwargs.get("dtype") or (args[0].dtype if like else None)
        integers = not like and ops.base_name(func) in ("randint", "randperm")
        # float64 is the default dtype of this run; other lengths are drawn from it.
        if dtype == torch.float64 or (dtype is None and not integers):
            kwargs["dtype"] = torch.float32
        out = func(*args, **kwargs)
        return out.double() if out.dtype in _WIDE else out

    def add_noise(self, name, func, args, kwargs, outs):
        if not outs or not (outs[0].is_floating_point() or outs[0].is_complex()):
            return
        try:
            sigmas = list(zip(outs, ops.sigma(name, func, args, kwargs, outs)))
            sigmas += ops.updated(name, args, outs)
        except (RuntimeError, TypeError, IndexError, AttributeError, NotImplementedError):
            sigmas = [(outs[0], ops.U32 * outs[0].abs())]  # arguments of another form
        for tensor, sigma in sigmas:
            if sigma is None or tensor.numel() == 0:
                continue
            draw = self.draw(tensor.shape)
            if tensor.is_complex():
                draw = torch.complex(draw, self.draw(tensor.shape))
            sigma = sigma.nan_to_num(0.0, 0.0, 0.0) if isinstance(sigma, torch.Tensor) else sigma
            # Subnormal results round to a fixed step, however small they are.
            tensor.add_((sigma + SUBNORMAL_STEP) * draw)

    def draw(self, shape):
        """From -1.5 to -0.5 and from 0.5 to 1.5: never small by chance, and two draws are never
        equal, so that what depends on the difference of two values is disturbed as well."""
        uniform = torch.rand(shape, generator=self.noise, dtype=torch.float64).mul_(2).sub_(1)
        return uniform + uniform.sign() * 0.5
