# SPDX-License-Identifier: Apache-2.0
"""What is known about single ATen operations: how long their sums are, what they cost, and how far
a careful fp32 implementation may be from the exact result.

`sigma` models an implementation that is legitimate but simple: sums in serial order, functions by
way of exp and a few ulp. For a serial sum of K terms with sum y and RMS r the rounding errors add
up like a random walk: every step rounds at the size of the running sum, which grows like i y / K
for the mean and sqrt(i) r for the rest, hence
    sigma = u (sqrt(K) |y| / 3 + K r / 2.4).
These are estimates of one standard deviation, not bounds; src/task/tolerance.cpp has the factors.
"""

import math

import torch

U32 = 2.0 ** -24
EXACT_SQUARES_MAX = 20_000_000  # FLOP

# Results are inputs, selected, compared or moved: no rounding.
EXACT = set("""
_conj _local_scalar_dense _to_copy _unique2 abs adaptive_max_pool2d adaptive_max_pool3d all amax
amin any arange argmax argmin argsort as_strided bincount bitwise_and bitwise_not bitwise_or
bitwise_xor broadcast_to bucketize cat ceil channel_shuffle clamp clamp_max clamp_min clone
complex conj constant_pad_nd copy copysign cummax cummin detach diag diag_embed embedding empty
empty_like empty_permuted empty_strided eq equal eye fill flip floor floor_divide fmax fmin fmod
frac full full_like gather ge gt hardtanh heaviside histc im2col imag index index_copy index_fill
index_put index_select is_nonzero isfinite isinf isnan kthvalue ldexp le lift lift_fresh linspace
logical_and logical_not logical_or logical_xor lt masked_fill masked_scatter masked_select max
max_pool2d_with_indices max_pool3d_with_indices maximum median min minimum mode nanmedian ne neg
new_empty new_empty_strided new_full new_ones new_zeros nonzero nonzero_numpy ones ones_like
pixel_shuffle pixel_unshuffle real reflection_pad1d reflection_pad2d reflection_pad3d relu
remainder repeat repeat_interleave replication_pad1d replication_pad2d replication_pad3d resize
resolve_conj resolve_neg roll rot90 round scalar_tensor scatter searchsorted set sgn sign signbit
sort split split_with_sizes squeeze stack t take threshold topk transpose tril tril_indices triu
triu_indices trunc unfold_copy unique unsafe_split unsqueeze upsample_nearest1d upsample_nearest2d
upsample_nearest3d view_as_complex view_as_real where zero zeros zeros_like
""".split())

# By way of exp, the error is absolute where the result is small.
ABSOLUTE = {"tanh", "expm1", "log1p", "softplus", "erf", "erfc", "elu", "celu", "selu",
            "log_sigmoid_forward", "sin", "cos", "atan", "asinh", "atanh"}
# ... and grows with the argument.
ARGUMENT = {"gelu", "mish", "hardswish"}
# Of exp with a large argument, the error of the argument counts.
EXPONENT = {"exp", "exp2", "sigmoid", "silu"}

CONTRACTIONS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "vdot": 0, "addmm": 1, "addbmm": 1,
                "baddbmm": 1, "addmv": 1, "convolution": 0, "addr": 1}
LIKE_SUM = {"sum", "mean", "nansum", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d",
            "_adaptive_avg_pool3d", "adaptive_avg_pool1d", "avg_pool1d", "trace",
            "mkldnn_adaptive_avg_pool2d"}
# Sums of terms of one sign, or products: relative error only.
RELATIVE = {"prod", "norm", "linalg_vector_norm", "var", "std", "var_mean", "std_mean",
            "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "nll_loss_forward",
            "nll_loss2d_forward", "logsumexp", "_cdist_forward", "_pdist_forward"}
SCATTERS = {"scatter_add", "index_add", "scatter_reduce", "embedding_bag", "_embedding_bag",
            "_embedding_bag_forward_only", "col2im", "segment_reduce"}
# Of one number alone these give a constant.
NORMS = {"native_layer_norm", "native_group_norm", "native_batch_norm"}
# Take one of many, without a sum.
SELECTIONS = {"max", "min", "amax", "amin", "argmax", "argmin", "median", "cumprod"}
# Random by nature.
RANDOM = {"bernoulli", "native_dropout", "dropout", "rand", "randn", "randint", "rand_like",
          "randn_like", "randint_like", "normal", "uniform", "random", "exponential", "multinomial",
          "randperm", "log_normal", "cauchy", "geometric", "poisson", "binomial",
          "_fused_dropout", "rrelu_with_noise"}
# Of these, those that make a tensor: with the same seed the same one.
DRAWN = {"rand", "randn", "randint", "rand_like", "randn_like", "randint_like", "randperm"}
# Sums and products of integers stay integers.
INTEGRAL = set("""
sum mm bmm mv dot vdot addmm addbmm baddbmm addmv convolution add sub rsub mul neg abs relu cumsum
max min amax amin maximum minimum clamp clamp_min clamp_max clone copy _to_copy cat stack
constant_pad_nd where masked_fill flip roll tril triu gather index index_select embedding zeros ones
full arange empty zeros_like ones_like repeat square trace lift_fresh index_put scatter_add
index_add bincount fill zero max_pool2d_with_indices diag_embed diag squeeze unsqueeze t transpose
resize
""".split())
# The order of equal values is not specified for these.
UNSTABLE = {"sort", "topk", "kthvalue", "median", "nanmedian", "mode", "argsort", "unique",
            "_unique2", "max_pool2d_with_indices", "cummax", "cummin"}
# Non-finite values are defined to pass through these.
SPECIAL = set("""
add sub rsub mul div neg abs relu clamp clamp_min clamp_max leaky_relu max min amax amin maximum
minimum sum mean exp sigmoid tanh clone copy _to_copy cat stack where masked_fill sqrt hardtanh
lift_fresh empty zeros ones full zeros_like ones_like threshold flip
""".split())


def base_name(func):
    """"add" for aten::add_.Tensor."""
    name = func._schema.name.split("::", 1)[1]
    if name.endswith("_") and not name.startswith("__"):
        return name[:-1]
    return name


def _numel(value):
    return value.numel() if isinstance(value, torch.Tensor) else 1


def _first(outs):
    return next((t for t in outs if isinstance(t, torch.Tensor)), None)


def _prod(values):
    return math.prod(int(v) for v in values) if isinstance(values, (list, tuple)) else int(values)


def reduction(name, args, outs):
    """K: how many terms go into one element of the result."""
    try:
        return max(1, int(_reduction(name, args, outs)))
    except (IndexError, AttributeError, TypeError, ZeroDivisionError):
        return 1


def length(name, args, outs):
    """K, also of operations that select one of K."""
    out = _first(outs)
    if name in SELECTIONS and args and isinstance(args[0], torch.Tensor) and out is not None:
        if out.numel() < args[0].numel():
            return max(1, args[0].numel() // max(out.numel(), 1))
    return reduction(name, args, outs)


def _reduction(name, args, outs):
    out = _first(outs)
    if name in ("mm", "bmm"):
        return args[0].shape[-1]
    if name in ("addmm", "baddbmm"):
        return args[1].shape[-1]
    if name == "addbmm":
        return args[1].shape[-1] * args[1].shape[0]
    if name in ("mv", "dot", "vdot"):
        return args[0].shape[-1]
    if name == "addmv":
        return args[1].shape[-1]
    if name == "convolution":
        weight, transposed, groups = args[1], args[6], args[8]
        if transposed:
            return weight.shape[0] // groups * math.prod(weight.shape[2:])
        return weight.numel() // max(weight.shape[0], 1)
    if name in ("_softmax", "_log_softmax", "cumsum", "cumprod", "logcumsumexp"):
        return args[0].shape[args[1]] if args[0].dim() else 1
    if name == "native_layer_norm":
        return _prod(args[1])
    if name == "native_group_norm":
        return args[4] * args[5] // args[6]
    if name == "native_batch_norm":
        return args[0].numel() // args[0].shape[1] if args[5] else 1
    if name in ("avg_pool2d", "avg_pool3d", "avg_pool1d"):
        return _prod(args[1])
    if name in ("nll_loss_forward", "nll_loss2d_forward"):
        return args[1].numel() if out.dim() == 0 else 1
    if name.startswith("_fft"):
        return math.prod(args[0].shape[d] for d in args[1])
    if name in SCATTERS or name == "bincount" or name == "histc":
        source = args[3] if name in ("scatter_add", "index_add") and len(args) > 3 else args[0]
        return min(_numel(source), max(1, 4 * _numel(source) // max(out.numel(), 1)))
    if name in LIKE_SUM or name in RELATIVE:
        return args[0].numel() // max(out.numel(), 1)
    return 1


def flops(name, args, outs):
    out = _first(outs)
    if out is None:
        return 0
    if name in CONTRACTIONS:
        return 2 * reduction(name, args, outs) * out.numel()
    return max([out.numel()] + [_numel(a) for a in args if isinstance(a, torch.Tensor)])


def squares(name, func, args):
    """sum of (a b)^2 over the terms of every element: K r^2."""
    if name == "convolution":
        a, w = args[0], args[1]
        return func(a * a, w * w, None, *args[3:])
    at = CONTRACTIONS[name]
    a, b = args[at], args[at + 1]
    a, b = _square(a), _square(b)
    if name == "addbmm":
        return torch.bmm(a, b).sum(0)
    plain = {"addmm": torch.mm, "baddbmm": torch.bmm, "addmv": torch.mv, "addr": torch.outer}
    return plain.get(name, func)(a, b)


def mean_squares(name, args):
    """The same without a second contraction, from the means of the factors: where it is large, no
    single term matters."""
    if name == "convolution":
        x, w = args[0], args[1]
        if args[6]:  # transposed: the weight has the input channels first
            return _square(x).mean() * _square(w).mean() * (w.numel() // max(w.shape[1], 1))
        each = _square(w).reshape(w.shape[0], -1).sum(1)
        return _square(x).mean() * each.reshape([1, -1] + [1] * (w.dim() - 2))
    at = CONTRACTIONS[name]
    a, b = args[at], args[at + 1]
    inner = a.shape[-1]
    if name in ("mm", "bmm", "addmm", "baddbmm"):
        return inner * _square(a).mean(-1, keepdim=True) * _square(b).mean(-2, keepdim=True)
    return inner * _square(a).mean() * _square(b).mean()


def _square(x):
    """|x|^2, without conj(): that is lazy, and within a dispatch nobody resolves it."""
    return x.abs() ** 2


def _mean_square(x, out):
    """Mean of x^2 over what was reduced, broadcastable to `out`; the overall mean otherwise."""
    return _square(x).mean()


def serial(k, y, r):
    return U32 * (math.sqrt(k) / 3 * y.abs() + k / 2.4 * r)


def sigma(name, func, args, kwargs, outs):
    """One standard deviation for every result; None where it is exact. Tensors are fp64."""
    if name in EXACT:
        return [None] * len(outs)
    out = outs[0]
    k = reduction(name, args, outs)
    x = args[0] if args and isinstance(args[0], torch.Tensor) else None
    single = None
    if name in CONTRACTIONS:
        terms = (squares(name, func, args) if 2 * k * out.numel() < EXACT_SQUARES_MAX
                 else mean_squares(name, args)).clamp_min(0)
        single = U32 * (math.sqrt(k) / 3 * out.abs() + math.sqrt(k) / 2.4 * terms.sqrt())
    elif name in ("sum", "mean", "nansum"):
        single = _sum_sigma(name, func, args, kwargs, out, k)
    elif name in LIKE_SUM:
        r = _mean_square(x, out).sqrt()
        single = U32 * (math.sqrt(k) / 3 * out.abs() + r / 2.4)
    elif name == "cumsum":
        single = _cumsum_sigma(x, args[1], out)
    elif name == "_softmax":
        distance = (x.amax(args[1], keepdim=True) - x).clamp_max(1e4)
        single = U32 * out.abs() * (2 + math.sqrt(k) / 3 + distance.nan_to_num())
    elif name == "_log_softmax":
        single = U32 * (2 + math.sqrt(k) / 3 + out.abs() + x.abs())
    elif name in ("native_layer_norm", "native_group_norm", "native_batch_norm"):
        return [_norm_sigma(name, args, outs, k)] + [
            None if o is None else U32 * (2 + math.sqrt(k) / 3) * o.abs() for o in outs[1:]]
    elif name.startswith("_fft"):
        single = U32 * (math.sqrt(k) / 3 * out.abs()
                        + k / 2.4 * _mean_square(x, out).sqrt())
    elif name in RELATIVE or name in SCATTERS:
        single = U32 * (2 + math.sqrt(k) / 3) * out.abs()
        if name == "logsumexp":
            single = single + U32
    elif name in ABSOLUTE:
        single = U32 * (2 * out.abs() + 1)
    elif name in ARGUMENT:
        single = U32 * (2 * out.abs() + x.abs())
    elif name in EXPONENT:
        single = U32 * out.abs() * (2 + x.abs().clamp_max(1e4))
    elif name.startswith("upsample") or name.startswith("grid_sampler"):
        single = U32 * (2 * out.abs() + _mean_square(x, out).sqrt())
    elif name in ("binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"):
        single = U32 * ((2 + math.sqrt(k) / 3) * out.abs() + 1)
    else:
        single = U32 * out.abs()
    return [single] + [None] * (len(outs) - 1)


def _sum_sigma(name, func, args, kwargs, out, k):
    x = args[0]
    terms = func(x * x, *args[1:], **kwargs)
    if name == "mean":
        return U32 * (math.sqrt(k) / 3 * out.abs() + terms.sqrt() / 2.4)
    return U32 * (math.sqrt(k) / 3 * out.abs() + math.sqrt(k) / 2.4 * terms.sqrt())


def _cumsum_sigma(x, dim, out):
    if x.dim() == 0:
        return U32 * out.abs()
    shape = [1] * x.dim()
    shape[dim] = -1
    steps = torch.arange(1, x.shape[dim] + 1, dtype=torch.float64).reshape(shape)
    r = (x * x).mean(dim, keepdim=True).sqrt()
    return U32 * (steps.sqrt() / 3 * out.abs() + steps / 2.4 * r)


def _norm_sigma(name, args, outs, k):
    """Two passes: the error of the mean shifts the whole group, in units of its deviation."""
    x, out = args[0], outs[0]
    if name == "native_batch_norm":
        weight, bias = args[1], args[2]
        shape = [1, -1] + [1] * (x.dim() - 2)
        if not args[5]:
            return U32 * 2 * (out.abs() + (0 if bias is None else bias.abs().reshape(shape)))
        dims = [0] + list(range(2, x.dim()))
        scale = outs[2].reshape(shape)
        mean = outs[1].reshape(shape)
        square = (x * x).mean(dims, keepdim=True)
    elif name == "native_layer_norm":
        dims = list(range(x.dim() - len(args[1]), x.dim()))
        weight, bias, shape = args[2], args[3], list(args[1])
        mean, scale = outs[1], outs[2]
        square = (x * x).mean(dims, keepdim=True)
    else:
        count, channels, inner, groups = args[3], args[4], args[5], args[6]
        weight, bias, shape = args[1], args[2], [1, -1] + [1] * (x.dim() - 2)
        grouped = x.reshape(count, groups, -1)
        each = [count, groups, 1]
        square = (grouped * grouped).mean(2, keepdim=True)
        shift = (math.sqrt(k) / 3 * outs[1].reshape(each).abs() + square.sqrt() / 2.4)
        shift = (shift * outs[2].reshape(each)).expand_as(grouped).reshape(x.shape)
        return _affine_sigma(out, shift, weight, bias, shape, k)
    shift = (math.sqrt(k) / 3 * mean.abs() + square.sqrt() / 2.4) * scale
    return _affine_sigma(out, shift, weight, bias, shape, k)


def updated(name, args, outs):
    """Tensors that an operation changes beside its results, each with one standard deviation."""
    if name != "native_batch_norm" or not args[5] or args[3] is None:
        return []
    x, running_mean, running_var, momentum, eps = args[0], args[3], args[4], args[6], args[7]
    k = reduction(name, args, outs)
    dims = [0] + list(range(2, x.dim()))
    mean, var = outs[1], outs[2] ** -2 - eps
    distance = (x - mean.reshape([1, -1] + [1] * (x.dim() - 2))) ** 2
    # Sums of differences to one element, as careful kernels have them, round at its size.
    of_mean = math.sqrt(k) / 3 * mean.abs() + x.abs().amax(dims) / 2.4
    of_var = (2 + math.sqrt(k) / 3) * var.abs() + (distance * distance).mean(dims).sqrt() / 2.4
    return [(running_mean, U32 * (momentum * of_mean + running_mean.abs())),
            (running_var, U32 * (momentum * of_var + running_var.abs()))]


def _affine_sigma(out, shift, weight, bias, shape, k):
    w = 1.0 if weight is None else weight.abs().reshape(shape)
    b = 0.0 if bias is None else bias.abs().reshape(shape)
    return U32 * (shift * w + (2 + math.sqrt(k) / 3) * (out.abs() + b))
