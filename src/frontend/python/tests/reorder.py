# SPDX-License-Identifier: Apache-2.0
"""Legitimate other implementations of the operations of a reference, in fp32: what a careful author
of a kernel might write. Used to test that the tolerance accepts all of them.

  serial    sums term by term, products rounded before they are added
  fma       sums term by term with fused multiply-add
  reverse   the same from the end
  blocked   partial sums of 32 lanes, then the lanes
  fast      sums in PyTorch's order, functions by way of exp2
"""

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kuafu_frontend import ops

VARIANTS = ["serial", "fma", "reverse", "blocked", "fast"]
LOG2E = 1.4426950408889634


def chain(terms):
    """Sums over the last axis, in order, every step rounded to fp32."""
    if terms.shape[-1] == 0:
        return terms.sum(-1)
    return torch.from_numpy(numpy.add.accumulate(
        numpy.ascontiguousarray(terms.numpy()), axis=-1, dtype=terms.numpy().dtype)[..., -1].copy())


def total(terms, variant):
    if variant == "reverse":
        terms = terms.flip(-1)
    if variant == "blocked":
        lanes = 32
        pad = (-terms.shape[-1]) % lanes
        terms = torch.nn.functional.pad(terms, (0, pad))
        terms = terms.reshape(*terms.shape[:-1], -1, lanes).transpose(-1, -2)
        return chain(chain(terms))
    return chain(terms)


def dot_fma(a, b):
    """sum over the last axis of a b, exact products, one rounding for each step."""
    result = torch.zeros(torch.broadcast_shapes(a.shape, b.shape)[:-1])
    for i in range(a.shape[-1]):
        exact = result.double() + a[..., i].double() * b[..., i].double()
        result = exact.float()
    return result


def contract(a, b, variant):
    """a [..., m, k] times b [..., k, n]."""
    left, right = a.unsqueeze(-2), b.transpose(-1, -2).unsqueeze(-3)
    if variant == "fma":
        return dot_fma(left, right)
    return total(left * right, variant)


def to_last(x, dims):
    """The dimensions `dims` flattened into the last one."""
    dims = [d % x.dim() for d in dims] if dims else list(range(x.dim()))
    keep = [d for d in range(x.dim()) if d not in dims]
    return x.permute(keep + dims).reshape([x.shape[d] for d in keep] + [-1]), keep


def reduce_sum(x, dims, keepdim, variant):
    flat, keep = to_last(x, list(dims) if dims else [])
    y = total(flat, variant)
    if keepdim:
        y = y.reshape([x.shape[d] if d in keep else 1 for d in range(x.dim())])
    return y


def exp(x, variant):
    return torch.exp2(x * LOG2E) if variant == "fast" else torch.exp(x)


class Reorder(TorchDispatchMode):
    def __init__(self, variant):
        super().__init__()
        self.variant = variant

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = ops.base_name(func)
        out = self.other(name, func, args, kwargs)
        return func(*args, **kwargs) if out is None else out

    def other(self, name, func, args, kwargs):
        x = args[0] if args else None
        if not isinstance(x, torch.Tensor) or x.dtype != torch.float32 or x.numel() == 0:
            return None
        v = self.variant
        if v == "fast":
            return self.fast(name, args)
        if name == "mm" or name == "bmm":
            return contract(x, args[1], v)
        if name == "mv":
            return contract(x, args[1].unsqueeze(-1), v).squeeze(-1)
        if name == "addmm":
            return contract(args[1], args[2], v) + x
        if name == "convolution" and not args[6]:
            return self.convolution(args)
        if name in ("sum", "mean") and kwargs.get("dtype") in (None, torch.float32):
            dims = args[1] if len(args) > 1 else []
            y = reduce_sum(x, dims, len(args) > 2 and args[2], v)
            return y if name == "sum" else y / (x.numel() / max(y.numel(), 1))
        if name == "cumsum" and v == "serial":
            moved = x.transpose(args[1], -1)
            y = numpy.add.accumulate(numpy.ascontiguousarray(moved.numpy()), axis=-1,
                                     dtype=numpy.float32)
            return torch.from_numpy(y).transpose(args[1], -1)
        if name == "_softmax":
            e = torch.exp(x - x.amax(args[1], keepdim=True))
            return e / reduce_sum(e, [args[1]], True, v)
        if name == "_log_softmax":
            shifted = x - x.amax(args[1], keepdim=True)
            return shifted - torch.log(reduce_sum(torch.exp(shifted), [args[1]], True, v))
        if name == "native_layer_norm":
            return self.layer_norm(args)
        if name == "native_group_norm":
            return self.group_norm(args)
        if name == "var" and isinstance(args[1], (list, tuple)):
            mean = reduce_sum(x, args[1], True, v)
            count = x.numel() // mean.numel()
            square = reduce_sum((x - mean / count) ** 2, args[1], kwargs.get("keepdim", False), v)
            return square / (count - kwargs.get("correction", 1))
        return None

    def fast(self, name, args):
        x = args[0]
        if name == "exp":
            return exp(x, "fast")
        if name == "_softmax":
            e = exp(x - x.amax(args[1], keepdim=True), "fast")
            return e * (1 / e.sum(args[1], keepdim=True))
        if name == "sigmoid":
            return 1 / (1 + exp(-x, "fast"))
        if name == "tanh":
            return 1 - 2 / (1 + exp(2 * x, "fast"))
        if name == "div" and isinstance(args[1], torch.Tensor) and (
                args[1].dtype == torch.float32):
            return x * (1 / args[1])
        if name == "rsqrt":
            return 1 / torch.sqrt(x)
        if name == "_log_softmax":
            top = x.amax(args[1], keepdim=True)
            return x - (torch.log(exp(x - top, "fast").sum(args[1], keepdim=True)) + top)
        return None

    def moments(self, grouped):
        mean = total(grouped, self.variant).unsqueeze(-1) / grouped.shape[-1]
        square = total((grouped - mean) ** 2, self.variant).unsqueeze(-1) / grouped.shape[-1]
        return mean, square

    def layer_norm(self, args):
        x, shape, weight, bias, eps = args
        mean, square = self.moments(x.reshape(*x.shape[:-len(shape)], -1))
        keep = list(x.shape[:-len(shape)]) + [1] * len(shape)
        y = (x - mean.reshape(keep)) * (1 / torch.sqrt(square + eps)).reshape(keep)
        y = y if weight is None else y * weight
        return (y if bias is None else y + bias), mean, square

    def group_norm(self, args):
        x, weight, bias, count, channels, inner, groups, eps = args
        grouped = x.reshape(count, groups, -1)
        mean, square = self.moments(grouped)
        y = ((grouped - mean) / torch.sqrt(square + eps)).reshape(x.shape)
        each = [1, -1] + [1] * (x.dim() - 2)
        y = y if weight is None else y * weight.reshape(each)
        return (y if bias is None else y + bias.reshape(each)), mean, square

    def convolution(self, args):
        x, weight, bias, stride, padding, dilation = args[:6]
        groups = args[8]
        if x.dim() != 4:
            return None
        n, m = x.shape[0], weight.shape[0]
        columns = torch.nn.functional.unfold(x, weight.shape[2:], dilation, padding, stride)
        columns = columns.reshape(n, groups, -1, columns.shape[-1])
        kernels = weight.reshape(groups, m // groups, -1)
        y = contract(kernels.unsqueeze(0), columns, self.variant).reshape(n, m, -1)
        size = [(x.shape[2 + i] + 2 * padding[i] - dilation[i] * (weight.shape[2 + i] - 1) - 1)
                // stride[i] + 1 for i in range(2)]
        if bias is not None:
            y = y + bias.reshape(1, -1, 1)
        return y.reshape(n, m, *size)
