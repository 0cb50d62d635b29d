# SPDX-License-Identifier: Apache-2.0
"""The unavoidable bytes and FLOP of single ATen operations, and the few numbers of a shape that a
library's speed depends on. Shapes only: tensors may be on the meta device.

Of every operation: `kind`, `dtype` (what it computes in), `flops`, `read` and `written`: bytes,
each tensor counted once and broadcast dimensions not repeated. And where they have a meaning:
  m, n, k, batch   gemm, attention; a convolution is the matrix product of n filters with m pixels
  rows, row, inner reductions, scans, norms, softmax: rows independent groups of `row` elements,
                   `inner` elements apart (1 = contiguous)
  strided          some operand is read in another order than it lies in memory
  taps, dims, transposed, stride, grouped   convolution and pooling
  steps            recurrent: what must run one after the other"""

import math

import torch

from . import ops

# What is computed for every element on its own. Everything unknown is treated so, and named.
REDUCTIONS = {"sum", "mean", "nansum", "prod", "norm", "linalg_vector_norm", "var", "std",
              "var_mean", "std_mean", "max", "min", "amax", "amin", "argmax", "argmin", "all",
              "any", "logsumexp", "median", "trace", "count_nonzero", "bincount", "histc", "equal"}
SCANS = {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"}
SOFTMAX = {"_softmax", "_log_softmax"}
LOSSES = {"mse_loss": 2, "l1_loss": 2, "smooth_l1_loss": 2, "huber_loss": 2,
          "binary_cross_entropy": 3, "binary_cross_entropy_with_logits": 3, "soft_margin_loss": 2}
POOLING = {"avg_pool2d", "avg_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices",
           "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_max_pool2d",
           "adaptive_max_pool3d", "mkldnn_adaptive_avg_pool2d"}
COPIES = {"clone", "copy", "_to_copy", "cat", "stack", "constant_pad_nd", "repeat", "flip", "roll",
          "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
          "replication_pad2d", "replication_pad3d", "pixel_shuffle", "pixel_unshuffle",
          "channel_shuffle", "im2col", "col2im", "tril", "triu", "contiguous", "permute_copy"}
GATHERS = {"embedding", "index_select", "gather", "index", "take", "index_put", "scatter",
           "scatter_add", "index_add", "index_copy", "scatter_reduce", "nll_loss_forward",
           "nll_loss2d_forward", "_embedding_bag", "embedding_bag", "index_fill",
           "upsample_nearest2d", "upsample_bilinear2d", "grid_sampler_2d", "upsample_nearest3d",
           "upsample_trilinear3d", "upsample_bicubic2d", "upsample_nearest1d"}
FILLS = {"zeros", "ones", "full", "fill", "zero", "zeros_like", "ones_like", "full_like", "arange",
         "linspace", "eye", "new_zeros", "new_ones", "new_full", "scalar_tensor", "tril_indices",
         "triu_indices"}
SORTS = {"sort", "topk", "kthvalue", "argsort", "unique", "_unique2", "mode", "searchsorted",
         "bucketize"}
NORMS = {"native_layer_norm", "native_group_norm", "native_batch_norm", "_native_batch_norm_legit",
         "cudnn_batch_norm", "_batch_norm_with_update", "_fused_rms_norm"}
SECTOR = 32  # bytes that a scattered access moves at least


def size_of(tensor):
    return tensor.numel() * tensor.element_size()


def read_bytes(tensor):
    """Broadcast dimensions lie in memory once."""
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride()):
        count *= 1 if stride == 0 else size
    return (count if tensor.numel() else 0) * tensor.element_size()


def order(tensor):
    """Dimensions from the slowest to the fastest, without those of one element."""
    pairs = [(stride, i) for i, (size, stride) in enumerate(zip(tensor.shape, tensor.stride()))
             if size > 1 and stride != 0]
    return [i for _, i in sorted(pairs, key=lambda p: (-p[0], p[1]))]


def strided(tensors, out):
    """Some operand of the result's shape lies in another order."""
    wanted = order(out)
    return any(t.shape == out.shape and t.numel() > 1 and _agrees(order(t), wanted) is False
               for t in tensors)


def _agrees(one, other):
    common = [i for i in other if i in one]
    return [i for i in one if i in other] == common


def dtype_of(tensors):
    floats = [t for t in tensors if t.dtype.is_floating_point or t.dtype.is_complex]
    chosen = (floats or tensors)[0].dtype if tensors else torch.float32
    return {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16",
            torch.bfloat16: "bf16", torch.complex64: "f32", torch.complex128: "f64",
            torch.bool: "bool", torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16",
            torch.int32: "i32", torch.int64: "i64"}.get(chosen, "f32")


def record(kind, name, tensors, outs, flops=0, **more):
    """Of operations that read all of `tensors` and write all of `outs`."""
    return {"op": name, "kind": kind, "dtype": dtype_of(list(tensors) + list(outs)),
            "flops": int(flops), "read": sum(read_bytes(t) for t in tensors),
            "written": sum(size_of(t) for t in outs), "tensors": list(tensors), "outs": list(outs),
            **{k: int(v) for k, v in more.items()}}


def _tensors(values):
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found


def describe(name, func, args, kwargs, outs):
    """The records of one operation: mostly one."""
    tensors = _tensors(list(args) + list(kwargs.values()))
    outs = [t for t in outs if t is not None]
    if name in ops.CONTRACTIONS:
        return convolution(args, outs[0]) if name == "convolution" else gemm(name, args, outs[0])
    if name in LOSSES and len(args) > 1 and outs and outs[0].numel() < args[0].numel():
        middle = args[0].detach()  # stands for the terms; another tensor for the recorder
        terms = record("elementwise", name, tensors, [middle], LOSSES[name] * args[0].numel())
        total = record("reduction", name + ".reduce", [middle], outs, args[0].numel(), rows=1,
                       row=args[0].numel(), inner=1)
        return [terms, total]
    if name in SOFTMAX:
        return [softmax(name, args, outs[0])]
    if name in NORMS:
        return [norm(name, args, outs)]
    if name in POOLING:
        return [pooling(name, args, outs)]
    if name in SCANS:
        return [scan(name, args, outs)]
    if name in REDUCTIONS and outs and tensors and (
            outs[0].numel() < tensors[0].numel() or len(tensors) == 1):
        return [reduction(name, tensors, outs)]
    if name in GATHERS:
        return [gather(name, tensors, outs)]
    if name in FILLS:
        return [record("fill", name, [], outs)]
    if name in COPIES:
        source = tensors[1:] if name == "copy" else tensors
        return [record("copy", name, source, outs,
                       strided=any(_moved(t, outs[0]) for t in source) if outs else False)]
    if name in SORTS:
        dim = tensors[0].shape[-1] if tensors and tensors[0].dim() else 1
        return [record("sort", name, tensors, outs, row=dim)]
    if name in ops.RANDOM:
        return [record("random", name, tensors, outs)]
    if name.startswith("_fft"):
        count = max([t.numel() for t in tensors + outs] or [1])
        return [record("fft", name, tensors, outs, 5 * count * math.log2(max(count, 2)))]
    return [elementwise(name, func, tensors, outs)]


def _moved(source, out):
    return source.shape == out.shape and order(source) != order(out)


def elementwise(name, func, tensors, outs):
    pointwise = _broadcasts(tensors, outs)
    count = max([t.numel() for t in outs] or [0])
    return record("elementwise" if pointwise else "other", name, tensors, outs, count,
                  strided=strided(tensors, outs[0]) if outs else False)


def _broadcasts(tensors, outs):
    """Every operand can be broadcast to the result: most likely one number for each."""
    if not outs:
        return False
    for t in tensors:
        for a, b in zip(reversed(t.shape), reversed(outs[0].shape)):
            if a not in (1, b):
                return False
    return True


def gemm(name, args, out):
    at = ops.CONTRACTIONS[name]
    a, b = args[at], args[at + 1]
    k = ops.reduction(name, args, [out])
    batch = a.shape[0] if a.dim() == 3 and name != "addbmm" else 1
    n = b.shape[-1] if b.dim() >= 2 else 1
    m = max(out.numel() // max(batch * n, 1), 1) if out.numel() else 0
    tensors = [a, b]
    # A bias of one row is added by the library on the way; a matrix is read.
    if at == 1:
        tensors.append(args[0])
    return [record("gemm", name, tensors, [out], 2 * m * n * k * batch, m=m, n=n, k=k, batch=batch,
                   strided=False)]


def channels_last(x, weight):
    """In this order the tensor cores' kernels of cuDNN take operands without a copy. A filter of
    one pixel lies in both orders."""
    if x.dim() not in (4, 5) or x.is_contiguous():
        return False
    wanted = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
    return x.is_contiguous(memory_format=wanted) and weight.is_contiguous(memory_format=wanted)


def convolution(args, out):
    x, weight, bias, stride, _, dilation, transposed, _, groups = args[:9]
    taps = math.prod(weight.shape[2:])
    if transposed:
        k = weight.shape[0] // groups * taps
        flops = 2 * x.numel() * weight.shape[1] * taps
        # cuDNN: the gradient of a convolution; every input pixel meets every filter tap once.
        m, n = x.numel() // max(x.shape[1], 1), weight.shape[1] * taps
        k = weight.shape[0] // groups
    else:
        k = weight.shape[1] * taps
        flops = 2 * out.numel() * k
        m, n = out.numel() // max(out.shape[1], 1), out.shape[1] // groups
    more = {"m": m, "n": n, "k": k, "batch": groups, "taps": taps, "dims": x.dim() - 2,
            "transposed": transposed, "stride": max(stride), "dilation": max(dilation),
            "in_channels": x.shape[1], "out_channels": out.shape[1],
            "channels_last": channels_last(x, weight)}
    depthwise = groups > 1 and groups == x.shape[1]
    records = [record("depthwise" if depthwise else "conv", "convolution", [x, weight], [out],
                      flops, **more)]
    if bias is not None and not depthwise:
        records.append(record("elementwise", "convolution.bias", [out, bias], [out], out.numel()))
    return records


def softmax(name, args, out):
    x, dim = args[0], args[1]
    row = x.shape[dim] if x.dim() else 1
    inner = math.prod(x.shape[dim:][1:]) if dim >= 0 else math.prod(x.shape[x.dim() + dim:][1:])
    return record("softmax", name, [x], [out], 4 * x.numel(), rows=x.numel() // max(row, 1),
                  row=row, inner=inner)


def norm(name, args, outs):
    x = args[0]
    row = ops.reduction(name, args, outs)
    training = 1
    if name == "native_batch_norm":
        training = 1 if args[5] else 0
        row = x.numel() // max(x.shape[1], 1)
    tensors = [x] + [t for t in args[1:5] if isinstance(t, torch.Tensor)]
    inner = math.prod(x.shape[2:]) if name == "native_batch_norm" else row
    return record("norm", name, tensors, [t for t in outs if t is not None], 6 * x.numel(),
                  rows=x.numel() // max(row, 1), row=row, inner=inner, training=training)


def pooling(name, args, outs):
    x = args[0]
    dims = 3 if "3d" in name else 2
    if "adaptive" in name:
        taps = max(math.prod(x.shape[-dims:]) // max(math.prod(outs[0].shape[-dims:]), 1), 1)
    else:
        window = args[1]
        window = [window] if isinstance(window, int) else list(window)
        taps = math.prod(window * dims if len(window) == 1 else window)
    return record("pooling", name, [x], outs, taps * outs[0].numel(), taps=taps, dims=dims,
                  rows=outs[0].numel())


def scan(name, args, outs):
    x, dim = args[0], args[1]
    row = x.shape[dim] if x.dim() else 1
    dim = dim % max(x.dim(), 1)
    return record("scan", name, [x], outs, x.numel(), rows=x.numel() // max(row, 1), row=row,
                  inner=math.prod(x.shape[dim + 1:]))


def reduction(name, tensors, outs):
    x = tensors[0]
    row = x.numel() // max(outs[0].numel(), 1)
    return record("reduction", name, tensors, outs, x.numel(), rows=outs[0].numel(), row=row,
                  inner=_inner(x, outs[0]))


def _inner(x, out):
    """How far apart the elements of a row are: 1 if the last dimension is reduced."""
    shape = list(out.shape)
    if not shape or x.dim() == 0:
        return 1
    if len(shape) == x.dim():
        return 1 if shape[-1] != x.shape[-1] else math.prod(x.shape[-1:])
    return x.shape[-1] if shape[-1] == x.shape[-1] and shape != list(x.shape[:-1]) else 1


def gather(name, tensors, outs):
    """Only what is asked for is read, in pieces of at least one sector."""
    made = record("gather", name, [], outs)
    made["tensors"] = list(tensors)
    indices = [t for t in tensors if not t.dtype.is_floating_point]
    count = max([t.numel() for t in indices] or [0])
    if name.startswith("nll_loss"):
        wanted = count * SECTOR
    else:
        wanted = max(made["written"], count * SECTOR if count * 4 >= outs[0].numel() else 0)
    made["read"] = min(wanted, sum(read_bytes(t) for t in tensors)) + sum(
        size_of(t) for t in indices)
    made["dtype"] = dtype_of(tensors)
    return made


def recurrent(name, x, states, weights, layers, two, first, outs):
    steps = x.shape[1 if first else 0] if x.dim() == 3 else x.shape[0]
    batch = x.numel() // max(steps * x.shape[-1], 1)
    flops = sum(2 * batch * steps * w.numel() for w in weights if w.dim() == 2)
    hidden = states[0].shape[-1]
    return record("rnn", name, [x, *weights], outs, flops, m=batch, n=hidden, k=x.shape[-1],
                  steps=steps, layers=layers, batch=2 if two else 1)


def attention(query, key, value, mask, causal, out):
    rows, width = query.shape[-2], query.shape[-1]
    keys = key.shape[-2]
    batch = query.numel() // max(rows * width, 1)
    flops = 2 * batch * rows * keys * (width + value.shape[-1])
    if causal:
        flops //= 2
    tensors = [query, key, value] + ([mask] if isinstance(mask, torch.Tensor) else [])
    return record("attention", "scaled_dot_product_attention", tensors, [out], flops, m=rows,
                  n=keys, k=width, batch=batch)
