# SPDX-License-Identifier: Apache-2.0
"""What PyTorch in eager mode would launch on a GPU for one forward pass at the sizes as written:
a list of operations with the bytes and FLOP that each cannot avoid. Nothing is computed and no
memory is used, because all tensors are on the meta device.

An operation is what reaches ATen's dispatcher, with these exceptions, where a GPU takes another way
than the decomposition seen here:
  lstm, gru, rnn              one operation for the whole sequence, as in cuDNN
  scaled_dot_product_attention  one operation, as since PyTorch 2.0
  convolution with a bias     two: cuDNN is called without it, and a second kernel adds it
  losses with a mean or sum   two: the terms are written out before they are reduced
  batch statistics            num_batches_tracked is one more small operation, as everywhere

Views cost a GPU nothing and the host a little: each operation says how many came before it.

What depends on values (nonzero, masked_select) has no shape here and is an error, never a guess."""


import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten

from . import costs, loader, ops, precision, scaling
from .errors import BadFile

PROBE_SEED = 1
OPS_MAX = 32768
CALLS_MAX = 200_000

# Nothing is launched, though the schema does not say that the result is a view.
VIEWS = {"_unsafe_view", "_reshape_alias", "detach", "alias", "lift", "lift_fresh", "view",
         "resize", "set", "_conj", "_neg_view", "resolve_conj", "resolve_neg"}
ALLOCATIONS = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty",
               "new_empty_strided"}


class Recorder(precision.Meta):
    calls_max = CALLS_MAX

    def __init__(self):
        super().__init__()
        self.records = []
        self.views = 0
        self.syncs = 0
        self.names = {}  # id of a tensor -> number of its storage
        self.kept = []  # so that an id is not given twice
        self.next = 0

    def value(self, tensor):
        if id(tensor) not in self.names:
            self.names[id(tensor)] = self.next
            self.kept.append(tensor)
            self.next += 1
        return self.names[id(tensor)]

    def alias(self, out, source):
        if id(out) not in self.names:
            self.names[id(out)] = self.value(source)
            self.kept.append(out)

    def seen(self, func, name, args, kwargs, outs):
        tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        if name in ALLOCATIONS:
            self.views += 1
            return
        if precision.is_view(func) or name in VIEWS:
            self.views += 1
            for out in outs:
                if tensors:
                    self.alias(out, tensors[0])
            return
        if name == "_local_scalar_dense":
            self.syncs += 1
        if precision.is_inplace(func) and outs and tensors:
            for out in outs:
                self.alias(out, tensors[0])
        for record in costs.describe(name, func, args, kwargs, outs):
            self.add(record)

    def add(self, record):
        if len(self.records) >= OPS_MAX:
            raise BadFile(f"forward() has more than {OPS_MAX} operations", "exhausted")
        tensors, outs = record.pop("tensors"), record.pop("outs")
        record["uses"] = [self.value(t) for t in tensors]
        record["use_bytes"] = [costs.read_bytes(t) for t in tensors]
        record["makes"] = [self.value(t) for t in outs]
        record["in"] = [list(t.shape) for t in tensors[:4]]
        record["out"] = [list(t.shape) for t in outs[:4]]
        record["views"] = self.views
        record["syncs"] = self.syncs
        self.views = self.syncs = 0
        self.records.append(record)


class Whole(TorchFunctionMode):
    """Functions that a GPU has as a whole and that would be taken apart here."""

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in ("lstm", "gru", "rnn_tanh", "rnn_relu") and len(args) == 9:
            return self.recurrent(name, *args)
        return func(*args, **kwargs)

    def recurrent(self, name, x, hidden, weights, biases, layers, dropout, training, two, first):
        views = self.recorder.views
        states = list(hidden) if isinstance(hidden, (list, tuple)) else [hidden]
        # With a projection the output has the width of the first state.
        width = states[0].shape[-1] * (2 if two else 1)
        out = x.new_empty(list(x.shape[:-1]) + [width])
        results = [out] + [torch.empty_like(s) for s in states]
        self.recorder.views = views  # not the file's
        self.recorder.add(costs.recurrent(name, x, states, weights, layers, two, first, results))
        return tuple(results)


def attention(recorder):
    def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0,
                                     is_causal=False, scale=None, enable_gqa=False):
        shape = list(query.shape[:-1]) + [value.shape[-1]]
        views = recorder.views
        out = query.new_empty(shape)
        recorder.views = views
        recorder.add(costs.attention(query, key, value, attn_mask, is_causal, out))
        return out
    return scaled_dot_product_attention


def apply_sizes(source, wanted):
    found = scaling.Sizes(source)
    if any(name not in found.nominal() for name in wanted):
        found.add_more()
    missing = [name for name in wanted if name not in found.nominal()]
    if missing:
        raise BadFile(f"the file has no size {missing[0]!r}")
    found.apply(wanted)


def list_operators(source, wanted=None):
    """The document of a request. wanted: sizes as a set of trials has them, {} = as written."""
    if wanted:
        apply_sizes(source, wanted)
    quiet = precision.Meta()
    quiet.calls_max = CALLS_MAX
    with torch.no_grad(), quiet:
        loaded = source.load()
        inputs = loaded.inputs(PROBE_SEED)
        model = loaded.build(PROBE_SEED)
    state = list(model.parameters()) + list(model.buffers())
    # Whoever times a module makes it and its inputs before, and on the device.
    inputs = [_to_meta(v) for v in inputs]
    recorder = Recorder()
    torch.nn.functional.scaled_dot_product_attention = attention(recorder)

    def run():
        try:
            with torch.no_grad(), recorder, Whole(recorder):
                return model(*inputs)
        except precision.TooLong:
            raise BadFile(f"forward() has more than {CALLS_MAX} calls of PyTorch",
                          "exhausted") from None
        except NotImplementedError as error:
            raise BadFile("the installed PyTorch cannot tell the shapes of an operation: "
                          + " ".join(str(error).split())[:200], "unsupported") from None
    results = source.guarded(loader.Stage.FORWARD, "running forward() on shapes", run)
    results = [t for t in tree_flatten(results)[0] if isinstance(t, torch.Tensor)]
    return {
        "version": 1, "operators": recorder.records,
        "results": sorted({recorder.value(t) for t in results}),
        "input_bytes": sum(costs.size_of(t) for t in inputs if isinstance(t, torch.Tensor)),
        "parameter_bytes": sum(costs.size_of(t) for t in state),
        "torch": torch.__version__,
    }


def _to_meta(value):
    if isinstance(value, torch.Tensor) and value.device.type != "meta":
        return value.to("meta")
    return value


