# SPDX-License-Identifier: Apache-2.0
"""Value classes. Random tensors made inside get_inputs() are replaced by values of a class that
keeps their shape, dtype and domain: labels stay labels, and a tensor that the file has computed
from random numbers (rand() * 50 + 75) gets other random numbers, not other arithmetic.

Uniform numbers that are returned as they are count as plain activations and may become negative or
large; those that are processed further stay within their bounds. Whether the reference can stand a
class is decided afterwards (see truth.admit).

  normal, uniform   as the file draws them, or the other one
  large_mean        100 + normal(0, 1): variance by E[x^2] - E[x]^2 cancels, exp overflows
  negative_mean     -100 - |...|: no element is positive
  offset            4 + normal: for references that cannot stand 100
  small             normal / 512: below the usual eps
  large             1e4 normal
  denormal          below the smallest normal number
  sparse            nine of ten are zero
  constant          all elements equal: ties, zero variance
  zero_one          zeros and ones: sums are exact, ties are frequent
  special           normal with infinities and NaN
  rows              rows that differ from each other: where a reference takes statistics over rows
                    that are averages of many numbers, those as written differ by rounding only
  edges             integers at the ends of their range
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import ops

UNIFORM, NORMAL, INTEGER, OTHER = "uniform", "normal", "integers", "other"

_UNIFORM_NAMES = {"rand", "rand_like", "uniform"}
_NORMAL_NAMES = {"randn", "randn_like", "normal"}
_INTEGER_NAMES = {"randint", "randint_like", "random"}

FLOAT_CLASSES = ["normal", "uniform", "large_mean", "negative_mean", "offset", "small", "large",
                 "denormal", "sparse", "constant", "zero_one", "special"]
INTEGER_CLASSES = ["edges", "constant", "zero_one"]
# Admitted only if equal values cannot make the result ambiguous.
WITH_TIES = {"sparse", "constant", "zero_one"}


class Draw:
    """One random tensor of a get_inputs() call, in order of creation."""

    def __init__(self, kind, low, high):
        self.kind = kind
        self.low = low
        self.high = high
        self.direct = False


class Values(TorchDispatchMode):
    """`draws` of an earlier call tell which tensors are returned as they are."""

    def __init__(self, class_name, seed, draws=None):
        super().__init__()
        self.class_name = class_name
        self.generator = torch.Generator().manual_seed(seed)
        self.known = draws
        self.draws = []
        self.made = []  # (tensor, index): the draws and their casts
        self.changed = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name = ops.base_name(func)
        if name in _UNIFORM_NAMES or name in _NORMAL_NAMES or name in _INTEGER_NAMES:
            self.drawn(name, func, args, out)
        elif name in ("_to_copy", "clone") and args:
            index = self.index_of(args[0])
            if index is not None and out.is_floating_point() == args[0].is_floating_point():
                self.made.append((out, index))
        return out

    def index_of(self, tensor):
        return next((i for t, i in self.made if t is tensor), None)

    def drawn(self, name, func, args, out):
        if not isinstance(out, torch.Tensor):
            return
        if name in _INTEGER_NAMES:
            bounds = [a for a in args if isinstance(a, int)]
            low, high = (bounds + [0, 0])[:2] if len(bounds) > 1 else (0, (bounds + [0])[0])
            draw = Draw(INTEGER, low, high)
        elif name in _UNIFORM_NAMES:
            bounds = [a for a in args[1:] if isinstance(a, (int, float))]
            low, high = bounds[:2] if name == "uniform" and len(bounds) > 1 else (0.0, 1.0)
            draw = Draw(UNIFORM, low, high)
        else:
            draw = Draw(NORMAL, 0.0, 0.0)
        index = len(self.draws)
        if self.known is not None and index < len(self.known):
            draw.direct = self.known[index].direct
        self.draws.append(draw)
        self.made.append((out, index))
        if self.class_name is not None and out.numel() > 0:
            replacement = self.replace(draw, out)
            if replacement is not None:
                out.copy_(replacement)
                self.changed += 1

    def finish(self, inputs):
        """Marks the draws that are inputs without further arithmetic."""
        for value in inputs:
            if not isinstance(value, torch.Tensor):
                continue
            for tensor, index in self.made:
                if value is tensor or (value.dtype == tensor.dtype and value.numel() > 0
                                       and value.data_ptr() == tensor.data_ptr()
                                       and value.numel() == tensor.numel()):
                    self.draws[index].direct = True

    def written_name(self):
        kinds = {d.kind for d in self.draws}
        for kind in (NORMAL, UNIFORM, INTEGER):
            if kind in kinds:
                return kind
        return "fixed"

    def normal(self, out):
        return torch.randn(out.shape, generator=self.generator)

    def uniform(self, out):
        return torch.rand(out.shape, generator=self.generator)

    def replace(self, draw, out):
        if draw.kind == INTEGER:
            return self.integers(draw, out)
        if draw.kind == UNIFORM and not draw.direct:
            return self.bounded(draw, out)
        return self.free(out)

    def free(self, out):
        name = self.class_name
        if name == "normal":
            return self.normal(out)
        if name == "uniform":
            return self.uniform(out)
        if name == "large_mean":
            return 100 + self.normal(out)
        if name == "negative_mean":
            return -100 - self.normal(out)
        if name == "offset":
            return 4 + self.normal(out)
        if name == "small":
            return self.normal(out) / 512
        if name == "large":
            return self.normal(out) * 1e4
        if name == "denormal":
            return self.normal(out).double() * 2.0 ** -130
        if name == "sparse":
            return self.normal(out) * (self.uniform(out) < 0.1)
        if name == "constant":
            return torch.full(out.shape, 0.75)
        if name == "zero_one":
            return torch.randint(0, 2, out.shape, generator=self.generator)
        if name == "special":
            return self.special(out)
        if name == "rows":
            means = torch.randn([out.shape[0]] + [1] * (out.dim() - 1), generator=self.generator)
            return self.normal(out) + 2 * means
        return None

    def special(self, out):
        value = self.normal(out)
        where = self.uniform(out)
        value[where < 0.01] = float("nan")
        value[(where > 0.01) & (where < 0.02)] = float("inf")
        value[(where > 0.02) & (where < 0.03)] = float("-inf")
        flat = value.view(-1)  # small tensors too
        flat[0] = float("nan")
        return value

    def bounded(self, draw, out):
        width = draw.high - draw.low
        if self.class_name in ("large_mean", "offset"):
            return draw.low + width * (0.96875 + self.uniform(out) / 64)
        if self.class_name == "negative_mean":
            return draw.low + width * (0.015625 + self.uniform(out) / 64)
        if self.class_name == "constant":
            return torch.full(out.shape, draw.low + 0.5 * width)
        return None

    def integers(self, draw, out):
        low, high = draw.low, draw.high
        if high <= low:
            return None
        if self.class_name == "constant":
            return torch.full(out.shape, low + (high - low) // 2, dtype=torch.int64)
        if self.class_name == "zero_one" and high - low >= 2:
            base = 0 if low <= 0 and high >= 2 else low
            return base + torch.randint(0, 2, out.shape, generator=self.generator)
        if self.class_name == "edges":
            choices = sorted({v for v in (low, low + 1, -1, 0, 1, high - 2, high - 1)
                              if low <= v < high})
            table = torch.tensor(choices, dtype=torch.int64)
            return table[torch.randint(0, len(choices), out.shape, generator=self.generator)]
        return None


def switch_off_dropout(model):
    """Whether there was any to switch off. Functions that a forward() calls itself are not seen."""
    found = False
    for module in model.modules():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            if module.training and module.p > 0:
                module.eval()
                found = True
        elif isinstance(module, (torch.nn.RNNBase, torch.nn.MultiheadAttention)):
            if module.training and module.dropout > 0:
                module.dropout = 0.0
                found = True
    return found


def randomise(model, seed, integral):
    """Parameters and running statistics that a constructor leaves at one value. A bias of zeros or
    a scale of ones would hide a kernel that ignores it. `integral`: small integers everywhere, for
    sums that must be exact."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.is_floating_point() or parameter.numel() == 0:
                continue
            data = parameter.data
            if integral:
                data.copy_(torch.randint(-1, 2, data.shape, generator=generator))
            elif bool((data == data.reshape(-1)[0]).all()):
                value = float(data.reshape(-1)[0])
                spread = 0.5 * abs(value) if value != 0 else 0.5
                noise = torch.rand(data.shape, generator=generator) * 2 - 1
                data.copy_(value + spread * noise)
        for module in model.modules():
            mean, var = getattr(module, "running_mean", None), getattr(module, "running_var", None)
            if isinstance(mean, torch.Tensor) and mean.numel() and bool((mean == 0).all()):
                mean.copy_(torch.rand(mean.shape, generator=generator) - 0.5)
            if isinstance(var, torch.Tensor) and var.numel() and bool((var == 1).all()):
                var.copy_(torch.rand(var.shape, generator=generator) * 1.5 + 0.5)
