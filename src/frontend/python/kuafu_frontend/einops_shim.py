# SPDX-License-Identifier: Apache-2.0
"""rearrange, reduce and repeat of the einops package, for machines without it: named axes, groups
in parentheses, `...`, and 1. A pattern becomes reshape, permute, reduce or expand, and reshape.

    rearrange(x, "b (c l) ... -> b c l ...", l=64)"""

import math

import torch

ELLIPSIS = "..."


class EinopsError(RuntimeError):
    pass


def _parse(side):
    """One list of names for each dimension; () and 1 are empty lists, `...` is itself."""
    groups, open_group = [], None
    for token in side.replace("(", " ( ").replace(")", " ) ").replace(ELLIPSIS, " ... ").split():
        if token == "(":
            if open_group is not None:
                raise EinopsError(f"nested parentheses in '{side}'")
            open_group = []
        elif token == ")":
            if open_group is None:
                raise EinopsError(f"unbalanced parentheses in '{side}'")
            groups.append(open_group)
            open_group = None
        elif not (token.isidentifier() or token in (ELLIPSIS, "1")):
            raise EinopsError(f"'{token}' is no name of an axis in '{side}'")
        elif open_group is not None:
            open_group += [] if token == "1" else [token]
        else:
            groups.append(token if token == ELLIPSIS else [] if token == "1" else [token])
    if open_group is not None:
        raise EinopsError(f"unbalanced parentheses in '{side}'")
    return groups


def _sides(pattern):
    parts = pattern.split("->")
    if len(parts) != 2:
        raise EinopsError(f"'{pattern}' has no single ->")
    left, right = _parse(parts[0]), _parse(parts[1])
    for groups in (left, right):
        names = [n for g in groups for n in ([g] if g == ELLIPSIS else g)]
        if len(names) != len(set(names)):
            raise EinopsError(f"an axis is there twice in '{pattern}'")
    return left, right


def _flatten(groups, dots):
    """`...` as the axes `dots`, each a dimension of its own, or within a group as part of it."""
    out = []
    for group in groups:
        if group == ELLIPSIS:
            out += [[n] for n in dots]
        else:
            out.append([m for n in group for m in (dots if n == ELLIPSIS else [n])])
    return out


def _solve(groups, shape, sizes, pattern):
    if len(groups) != len(shape):
        raise EinopsError(f"'{pattern}' does not fit a tensor of shape {list(shape)}")
    for group, size in zip(groups, shape):
        unknown = [n for n in group if n not in sizes]
        known = math.prod(sizes[n] for n in group if n in sizes)
        if len(unknown) > 1:
            raise EinopsError(f"the sizes of {', '.join(unknown)} cannot be told in '{pattern}'")
        if unknown:
            if known == 0 or size % known:
                raise EinopsError(f"{size} is not divisible by {known} in '{pattern}'")
            sizes[unknown[0]] = size // known
        elif known != size:
            raise EinopsError(f"{size} is not {known} in '{pattern}'")


def _apply(tensor, pattern, axes, reduction=None, repeating=False):
    if isinstance(tensor, (list, tuple)):
        tensor = torch.stack(list(tensor))
    left, right = _sides(pattern)
    count = tensor.dim() - sum(1 for g in left if g != ELLIPSIS)
    dots = [f"...{i}" for i in range(count)] if ELLIPSIS in left else []
    left, right = _flatten(left, dots), _flatten(right, dots)
    sizes = {k: int(v) for k, v in axes.items()}
    _solve(left, tensor.shape, sizes, pattern)
    inputs = [n for g in left for n in g]
    outputs = [n for g in right for n in g]
    missing = [n for n in outputs if n not in inputs]
    gone = [n for n in inputs if n not in outputs]
    if (missing and not repeating) or (gone and reduction is None):
        raise EinopsError(f"the sides of '{pattern}' name different axes: "
                          f"{', '.join(missing + gone)}")
    x = tensor.reshape([sizes[n] for n in inputs])
    if gone:
        dims = [inputs.index(n) for n in gone]
        x = _reduce(x, dims, reduction)
        inputs = [n for n in inputs if n not in gone]
    kept = [n for n in outputs if n in inputs]
    x = x.permute([inputs.index(n) for n in kept])
    if missing:
        for i, name in enumerate(outputs):
            if name in missing:
                if name not in sizes:
                    raise EinopsError(f"the size of {name} is not given in '{pattern}'")
                x = x.unsqueeze(i)
        x = x.expand([sizes[n] for n in outputs])
    return x.reshape([math.prod(sizes[n] for n in g) for g in right])


def _reduce(x, dims, reduction):
    if callable(reduction):
        return reduction(x, tuple(dims))
    if reduction in ("sum", "mean"):
        return getattr(x, reduction)(dims)
    if reduction in ("max", "min"):
        return getattr(x, "a" + reduction)(dims)
    if reduction == "prod":
        for dim in sorted(dims, reverse=True):
            x = x.prod(dim)
        return x
    raise EinopsError(f"unknown reduction {reduction!r}")


def rearrange(tensor, pattern, **axes):
    return _apply(tensor, pattern, axes)


def reduce(tensor, pattern, reduction, **axes):
    return _apply(tensor, pattern, axes, reduction=reduction)


def repeat(tensor, pattern, **axes):
    return _apply(tensor, pattern, axes, repeating=True)


def einsum(*operands):
    """Tensors, then the pattern, whose axes may have names of several letters."""
    *tensors, pattern = operands
    left, right = pattern.split("->")
    letters = {}

    def short(text):
        out = ""
        for token in text.replace(ELLIPSIS, " ... ").split():
            out += ELLIPSIS if token == ELLIPSIS else letters.setdefault(
                token, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(letters)])
        return out
    return torch.einsum(",".join(short(p) for p in left.split(",")) + "->" + short(right), *tensors)
