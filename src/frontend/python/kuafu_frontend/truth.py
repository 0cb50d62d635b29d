# SPDX-License-Identifier: Apache-2.0
"""The right answer of one trial, how far fp32 itself is from it, and whether the trial is fit to
judge anybody.

  y64        the reference with every float in fp64
  e32        largest error of the reference in its own precision, per row of the output
  terms_rms  S, per row: rounding noise of serial sums and exp-based functions is added to every
             operation (ops.sigma) and carried through to the output; S is that deviation in units
             of u K / NOISE_ROOM; for a plain sum of K terms it is about twice their RMS
"""

import copy
import math

import torch

from . import loader, ops
from .errors import BadFile
from .precision import Half, Run64, Watched

# The deviation is estimated, and where it is by chance too small a correct kernel fails: one value
# in thirty lies beyond five of those from two runs, one in a thousand beyond those from eight.
NOISE_RUNS = 8
# How many of the noise's own deviations a candidate may be off: a plan has thousands of values, and
# a correct kernel must not fail at any of them.
NOISE_ROOM = {8: 5, 4: 6, 2: 8}
ROW_SHORT = 8  # rows so short are judged together with the others
ERROR_MAX = {torch.float64: 1e-6, torch.float32: 1e-3, torch.float16: 0.05, torch.bfloat16: 0.1}
NOISE_MAX = 1e-2
# Nor does the candidate report them (kuafu_candidate/trials.py).
IGNORED_BUFFERS = ("num_batches_tracked",)


SMALLEST_NORMAL = 2.0 ** -126  # of float32


class Rejected(Exception):
    """The trial would judge by chance; the text says why."""


class State:
    """A model with its fp64 twin. Plain tensor attributes count as buffers: a kernel could not get
    at them otherwise."""

    def __init__(self, model):
        self.model = model
        self.wide = None
        self.parameters = [(n, p.data) for n, p in model.named_parameters()]
        self.extras = _plain_tensors(model)
        self.buffers = list(model.named_buffers()) + [
            (n, getattr(m, a)) for n, m, a in self.extras]
        for name, value in self.parameters + self.buffers:
            loader.check_value(f"parameter or buffer {name}", value)
        self.half = any(t.dtype in loader.HALVES for _, t in self.parameters + self.buffers)

    def make_wide(self):
        if self.wide is None:
            try:
                wide = copy.deepcopy(self.model)
            except Exception as error:  # the model may refuse in any way
                raise BadFile(f"copying the model: {type(error).__name__}: {error}") from None
            wide.double()
            for module in wide.modules():
                for key, value in list(vars(module).items()):
                    if isinstance(value, torch.Tensor) and value.dtype in loader.FLOATS:
                        setattr(module, key, value.double())
            self.wide = wide
        return self.wide


def _plain_tensors(model):
    found = []
    for prefix, module in model.named_modules():
        for key, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                found.append((f"{prefix}.{key}" if prefix else key, module, key))
    return found


def _buffers_of(model):
    return [b for _, b in model.named_buffers()] + [
        getattr(m, a) for _, m, a in _plain_tensors(model)]


def same(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if torch.equal(a, b):  # without memory of its own
        return True
    equal = a == b
    if a.is_floating_point():
        equal = equal | ((a != a) & (b != b))
    return bool(equal.all())


def copies(values, dtype=None):
    out = []
    for value in values:
        if isinstance(value, torch.Tensor):
            value = value.detach().clone()
            if dtype is not None and value.dtype in loader.FLOATS:
                value = value.to(dtype)
        out.append(value)
    return out


class Pass:
    """One forward pass: results, buffers afterwards, inputs afterwards."""

    def __init__(self, source, model, inputs, mode, seed=0):
        buffers = _buffers_of(model)
        saved = [b.clone() for b in buffers]

        def run():
            torch.manual_seed(seed)
            with torch.no_grad():
                if mode is None:
                    return model(*inputs)
                with mode:
                    return model(*inputs)
        value = source.guarded(loader.Stage.FORWARD, "running forward()", run)
        after = _buffers_of(model)
        # What is put back below, or changed by the next pass, must not change the results.
        shared = {t.storage().data_ptr() for t in after}
        self.results = [(n, t.detach()) for n, t in loader.outputs_of(value)]
        self.results = [
            (n, t.clone() if mode is None or t.storage().data_ptr() in shared else t)
            for n, t in self.results]
        self.buffers = [b.clone() for b in after]
        self.inputs = inputs
        with torch.no_grad():
            for buffer, old in zip(after, saved):
                if buffer.shape == old.shape:
                    buffer.copy_(old)
        self.before = saved


class Truth:
    """outputs: [(name, dtype, y64, e32, terms_rms, K, argument index or -1)]."""

    def __init__(self, run, inputs, inputs_after):
        self.outputs = []
        self.run = run
        self.exact = False
        self.integral = False  # computed with parameters that are integers
        self.inputs_mutated = any(isinstance(a, torch.Tensor) and not same(a, b)
                                  for a, b in zip(inputs, inputs_after))
        self.worst = 0.0


def compute(source, state, inputs, seed, options):
    """options: special (non-finite values are wanted), small (so are underflows), zero_one, half,
    coherent (equal terms), scalars (how many), buffers_at (index of the first buffer in the
    argument list), plain (the results in their own precision are the truth and every trial is
    admitted; with watch, and a trace), integral (so are the parameters), noise_runs."""
    half = options["half"] or state.half or any(
        isinstance(v, torch.Tensor) and v.dtype in loader.HALVES for v in inputs)
    narrow = copies(inputs)
    if options["plain"] and not half:  # the first pass itself is the truth
        run = Watched()
        number_arguments(run, narrow, state.model, options)
        once = Pass(source, state.model, narrow, run if options["watch"] else None, seed)
        return _as_they_are(run, inputs, narrow, _pair(once, once, state, options["buffers_at"]))
    first = Pass(source, state.model, narrow, Half() if half else None, seed)
    wide_model = state.make_wide()
    previous = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        wide = copies(inputs, torch.float64)
        run = Run64()
        number_arguments(run, wide, wide_model, options)
        exact = Pass(source, wide_model, wide, run, seed)
        pairs = _pair(first, exact, state, options["buffers_at"])
        if options["plain"]:
            return _as_they_are(run, inputs, narrow, pairs)
        truth = Truth(run, inputs, narrow)
        truth.integral = options["integral"]
        noisy = []
        for name, narrow_y, y64, argument, _ in pairs:
            _admit(options, name, narrow_y, y64)
        for i in range(options["noise_runs"]):
            mode = Run64(noise_seed=seed + 1 + i, watch=False)
            once = Pass(source, wide_model, copies(inputs, torch.float64), mode, seed)
            noisy.append(_pair(first, once, state, options["buffers_at"]))
    finally:
        torch.set_default_dtype(previous)
    for index, (name, narrow_y, y64, argument, tensor) in enumerate(pairs):
        others = [p[index][2] for p in noisy]
        _judge(truth, options, (name, narrow_y, y64, argument),
               others, run.reduction_of(tensor))
    truth.exact = options["zero_one"] and run.integral and all(
        _integral(v) for v in list(inputs) + [t for _, t in state.parameters + state.buffers]) and (
        all(_representable(o) for o in truth.outputs))
    return truth


def number_arguments(run, inputs, model, options):
    for value in inputs:
        run.argument(value)
    for _, value in model.named_parameters():
        run.argument(value)
    for value in _buffers_of(model):
        run.argument(value)
    for _ in range(options["scalars"]):
        run.argument(None)


def _as_they_are(run, inputs, narrow, pairs):
    """The truth where the results in their own precision are that."""
    truth = Truth(run, inputs, narrow)
    truth.outputs = [_as_it_is(p, run.reduction_of(p[4])) for p in pairs if p[3] < 0]
    return truth


def _as_it_is(pair, k):
    name, narrow, _, argument, _ = pair
    floats = narrow.dtype in loader.FLOATS
    return {"name": name, "dtype": narrow.dtype, "argument": argument, "k": k,
            "y64": narrow.double() if floats else narrow.to(torch.int64),
            "e32": torch.zeros(0), "terms_rms": torch.zeros(0)}


def _integral(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        wide = value.double()
        return bool((wide == wide.round()).all())
    return not isinstance(value, float) or value == int(value)


def _representable(output):
    dtype, y64 = output["dtype"], output["y64"]
    return dtype not in loader.FLOATS or bool((y64.to(dtype).double() == y64).all())


def _pair(first, second, state, buffers_at):
    """[(name, result in own precision, other result, argument, the tensor as the run knows it)]."""
    if len(first.results) != len(second.results):
        raise BadFile("forward() returns another number of tensors in fp64 than in its own "
                      "precision")
    pairs = [(n, a, b, -1, b) for (n, a), (_, b) in zip(first.results, second.results)]
    names = [n for n, _ in state.buffers]
    for i, name in enumerate(names):
        if name.split(".")[-1] in IGNORED_BUFFERS or same(first.before[i], first.buffers[i]):
            continue
        pairs.append((name, first.buffers[i], second.buffers[i], buffers_at + i,
                      second.buffers[i]))
    for name, a, b, _, _ in pairs:
        if a.shape != b.shape:
            raise BadFile(f"output {name} has shape {list(a.shape)} in one run and "
                          f"{list(b.shape)} in another; shapes must not depend on rounding")
    return pairs


def _rows(tensor):
    """As [rows, elements of a row]."""
    last = tensor.shape[-1] if tensor.dim() else 1
    return tensor.reshape(-1, last) if tensor.numel() else tensor.reshape(0, 1)


def _admit(options, name, narrow, y64):
    """What can be said against a trial before its noise is known."""
    if narrow.dtype not in loader.FLOATS:
        exact = y64.to(torch.int64) if y64.dtype not in loader.FLOATS else None
        if exact is None or not same(exact, narrow.to(torch.int64)):
            raise Rejected("integer results depend on rounding")
        return
    y64 = y64.double()
    if y64.numel() == 0:
        return
    finite = torch.isfinite(y64)
    if not bool(finite.all()):
        if not options["special"]:
            raise Rejected("the result is not finite")
        wide = narrow.double()
        agree = torch.where(finite, torch.isfinite(wide),
                            (wide == y64) | (torch.isnan(wide) & torch.isnan(y64)))
        if not bool(agree.all()):
            raise Rejected("infinities and NaN come out differently in fp32 and fp64")
    error = _finite_error(narrow, y64, finite)
    if not bool(torch.isfinite(error).all()):
        raise Rejected("the reference overflows in its own precision")
    largest = float(y64[finite].abs().max()) if bool(finite.any()) else 0.0
    if 0 < largest < SMALLEST_NORMAL and not options["small"]:
        raise Rejected(f"all results underflow: the largest is {largest:.1e}")
    rms, worst = _rms(y64, finite), float(error.max())
    if worst > ERROR_MAX[narrow.dtype] * rms and worst > 1e-30:
        raise Rejected(f"the reference's own error is {worst:.1e} at results of {rms:.1e}")


def _finite_error(narrow, y64, finite):
    return torch.where(finite, (narrow.double() - y64).abs(), torch.zeros_like(y64))


def _rms(y64, finite):
    return math.sqrt(float((torch.where(finite, y64, torch.zeros_like(y64)) ** 2).sum())
                     / max(int(finite.sum()), 1))


def _judge(truth, options, output, noisy, k):
    """The entry of an output that has been admitted."""
    name, narrow, y64, argument = output
    entry = {"name": name, "dtype": narrow.dtype, "argument": argument, "k": k,
             "e32": torch.zeros(0), "terms_rms": torch.zeros(0)}
    truth.outputs.append(entry)
    if narrow.dtype not in loader.FLOATS:
        entry["y64"] = narrow.to(torch.int64)
        if any(not same(n.to(torch.int64), entry["y64"]) for n in noisy):
            raise Rejected("near ties: integer results depend on the order of summation")
        return
    y64 = y64.double()
    entry["y64"] = y64
    if y64.numel() == 0:
        return
    finite = torch.isfinite(y64)
    error = _finite_error(narrow, y64, finite)
    entry["e32"] = _rows(error).amax(1)
    deviation = torch.zeros_like(y64)
    for other in noisy:
        difference = torch.where(finite, (other.double() - y64).abs(), torch.zeros_like(y64))
        deviation = deviation + difference.nan_to_num(0.0, 0.0, 0.0) ** 2
    deviation = (deviation / max(len(noisy), 1)).sqrt()
    row = _rows(deviation)
    level = torch.maximum(row.amax(1), 2 * (row * row).mean(1).sqrt())
    if row.shape[1] < ROW_SHORT and row.shape[0] >= ROW_SHORT:
        level = torch.maximum(level, level.median())
    entry["terms_rms"] = level * NOISE_ROOM[len(noisy)] / (ops.U32 * k)
    if options["coherent"]:
        # Equal terms round alike: the errors of a serial sum add up, at worst to u K |y| / 2,
        # instead of cancelling like those of the noise above.
        size = _rows(torch.where(finite, y64, torch.zeros_like(y64)).abs()).amax(1)
        entry["terms_rms"] = torch.maximum(entry["terms_rms"], size / 2)
    rms, worst = _rms(y64, finite), float(error.max())
    truth.worst = max(truth.worst, worst / rms if rms > 0 else 0.0)
    if narrow.dtype == torch.float32 and float(level.max()) > NOISE_MAX * rms and rms > 1e-30:
        raise Rejected("the result depends on the order of summation too much")
