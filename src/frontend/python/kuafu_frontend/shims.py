# SPDX-License-Identifier: Apache-2.0
"""Functions of newer PyTorch versions that public tasks use and the installed one may lack. Each is
the composition its documentation gives, from operations that exist; none replaces a function that
is there.

  F.scaled_dot_product_attention   2.0    softmax(q k^T * scale + mask) v; dropout must be 0
  F.rms_norm, nn.RMSNorm           2.4    x * rsqrt(mean(x^2) + eps) * weight
  torch.vmap, torch.compile        2.0    compile: the function itself
  torch.nn.attention.sdpa_kernel   2.3    a context that does nothing
  einops                                  rearrange, reduce, repeat and einsum (einops_shim.py)
"""

import contextlib
import importlib.util
import math
import sys
import types

import torch
import torch.nn.functional as F

from . import einops_shim


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False,
                                 scale=None, enable_gqa=False):
    if dropout_p > 0.0:
        return F.dropout(value, dropout_p)  # reported as random by whoever runs it
    if enable_gqa:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    factor = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = torch.matmul(query, key.transpose(-2, -1)) * factor
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError("scaled_dot_product_attention: is_causal excludes attn_mask")
        keep = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
        scores = scores.masked_fill(keep.logical_not(), float("-inf"))
    elif attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(attn_mask.logical_not(), float("-inf"))
        else:
            scores = scores + attn_mask
    return torch.matmul(torch.softmax(scores, dim=-1), value)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    dims = tuple(range(-len(normalized_shape), 0))
    if eps is None:
        eps = torch.finfo(input.dtype).eps
    y = input * torch.rsqrt(input.pow(2).mean(dims, keepdim=True) + eps)
    return y if weight is None else y * weight


class RMSNorm(torch.nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None,
                 dtype=None):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        if elementwise_affine:
            self.weight = torch.nn.Parameter(torch.ones(self.normalized_shape, dtype=dtype))
        else:
            self.register_parameter("weight", None)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


def _compile(model=None, **_):
    return model if model is not None else (lambda function: function)


def _vmap(*args, **kwargs):
    import functorch  # slow to import, seldom needed
    return functorch.vmap(*args, **kwargs)


def install():
    if not hasattr(F, "scaled_dot_product_attention"):
        F.scaled_dot_product_attention = scaled_dot_product_attention
    if not hasattr(F, "rms_norm"):
        F.rms_norm = rms_norm
    if not hasattr(torch.nn, "RMSNorm"):
        torch.nn.RMSNorm = RMSNorm
    if not hasattr(torch, "compile"):
        torch.compile = _compile
    if not hasattr(torch, "vmap"):
        torch.vmap = _vmap
    if not hasattr(torch.nn, "attention"):
        module = types.ModuleType("torch.nn.attention")

        class SDPBackend:
            ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION = -1, 0, 1, 2

        @contextlib.contextmanager
        def sdpa_kernel(*_, **__):
            yield
        module.SDPBackend = SDPBackend
        module.sdpa_kernel = sdpa_kernel
        torch.nn.attention = module
        sys.modules["torch.nn.attention"] = module
    if "einops" not in sys.modules and importlib.util.find_spec("einops") is None:
        sys.modules["einops"] = einops_shim
