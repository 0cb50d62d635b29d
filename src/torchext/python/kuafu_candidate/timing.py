# SPDX-License-Identifier: Apache-2.0
"""What a candidate would have a GPU do in one call of forward() at the sizes of the file: operators
of PyTorch, launches of kernels, copies and fills, in their order. Nothing is compared, so nothing
large is computed: an operator on large tensors makes tensors of the right shape whose memory costs
nothing until somebody reads it, and of launches a few blocks run, with counters.

The call is made as CUDA-L1's benchmark makes it: reference and candidate are executed in one name
space, warmed up, and called once more. Both lists come from the same recorder.

Items of a list: ["op", index], ["launch", index], ["copy", bytes], ["fill", bytes], ["call", 0] (of
an extension: the host's time) and ["replay", 0]; 1 at the end says that it is part of a CUDA graph,
for which the host does nothing."""

import contextlib
import linecache
import os
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..",
                                "frontend", "python"))

from kuafu_frontend import costs, operators, ops, precision, shims  # noqa: E402

from . import device, extension, native, trials  # noqa: E402

SMALL = 16384  # elements: what is smaller is really computed
ITEMS_MAX = 65536
WARM_UPS = 3
SEED = 42


class Unsupported(Exception):
    """Why the call cannot be followed."""


class Recorder:
    """The interface of kuafu_frontend.operators.Recorder, over memory instead of names."""

    def __init__(self):
        self.names = {}  # address of a storage -> number of what it holds
        self.graph = None  # items of the CUDA graph that is being captured
        self.clear()

    def clear(self):
        self.records, self.items = [], []
        self.views = self.syncs = 0

    def born(self, tensor):
        self.names[_storage(tensor)] = len(self.names)

    def value(self, tensor):
        return self.names.setdefault(_storage(tensor), len(self.names))

    def add(self, record):
        tensors, outs = record.pop("tensors"), record.pop("outs")
        record["uses"] = [self.value(t) for t in tensors]
        record["use_bytes"] = [costs.read_bytes(t) for t in tensors]
        record["makes"] = [self.value(t) for t in outs]
        record["in"] = [list(t.shape) for t in tensors[:4]]
        record["out"] = [list(t.shape) for t in outs[:4]]
        record["views"], record["syncs"] = self.views, self.syncs
        record["tf32"] = int(record["kind"] == "gemm" and torch.backends.cuda.matmul.allow_tf32)
        self.views = self.syncs = 0
        self.records.append(record)
        self.item("op", len(self.records) - 1)

    def item(self, kind, number):
        if len(self.items) >= ITEMS_MAX:
            raise Unsupported(f"forward() does more than {ITEMS_MAX} things")
        if self.graph is not None:
            self.graph.append((kind, self.records[number] if kind == "op" else number))
        self.items.append([kind, number, 0])

    def take_work(self):
        """What an extension has done."""
        done = native.work()
        if done["library_call"]:
            raise Unsupported("its C++ calls " + done["library_call"])
        if done["findings"]:
            raise Unsupported("its kernels go wrong: " + done["findings"][0])
        if done["blind"]:
            raise Unsupported(done["blind"])
        for kind, number in done["work"]:
            self.item(kind, number)

    def replay(self, items):
        self.item("replay", 0)
        for kind, what in items:
            number = what
            if kind == "op":
                self.records.append(what)
                number = len(self.records) - 1
            self.items.append([kind, number, 1])


def _storage(tensor):
    return tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()


def _elements(func, args, kwargs):
    tensors = list(device.tensors_in((args, kwargs)))
    count = max([t.numel() for t in tensors] or [0])
    if tensors:
        return count
    for value in args:
        if isinstance(value, (list, tuple)) and all(isinstance(v, int) for v in value):
            size = 1
            for v in value:
                size *= v
            count = max(count, size)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) \
                and ops.base_name(func) in ("arange", "linspace", "eye", "randperm"):
            count = max(count, int(abs(value)) ** (2 if ops.base_name(func) == "eye" else 1))
    return count


class Shapes(TorchDispatchMode):
    """Operators without their work."""

    def __init__(self, state, recorder):
        super().__init__()
        self.state, self.recorder = state, recorder

    def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = ops.base_name(func)
        # A graph is mostly captured by an earlier call than the one that is listed.
        recording = not self.state.internal and (
            self.state.recording or self.recorder.graph is not None)
        with self.state.by_harness():
            if name in operators.ALLOCATIONS:
                out = func(*args, **kwargs)
                for t in device.tensors_in([out]):
                    self.blank(t)
                self.recorder.views += 1
                return out
            if precision.is_view(func) or name in operators.VIEWS:
                self.recorder.views += 1
                return func(*args, **kwargs)
            if name == "_local_scalar_dense":
                self.recorder.syncs += 1
                return func(*args, **kwargs)
            out = self.computed(func, args, kwargs)
            if out is None:
                out = self.shaped(func, name, args, kwargs)
            if recording:
                self.record(func, name, args, kwargs, out)
        return out

    def computed(self, func, args, kwargs):
        """None if it is too large, or the CPU does not have it."""
        if _elements(func, args, kwargs) > SMALL:
            return None
        try:
            out = func(*args, **kwargs)
        except (RuntimeError, NotImplementedError) as error:
            if "not implemented for" in str(error):
                return None
            raise
        if not precision.is_inplace(func):
            for t in device.tensors_in([out]):
                self.recorder.born(t)
        return out

    def record(self, func, name, args, kwargs, out):
        outs = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        if not any(device.on_device(t) for t in device.tensors_in((args, kwargs, outs))):
            return
        for record in costs.describe(name, func, args, kwargs, outs):
            self.recorder.add(record)

    def blank(self, tensor):
        self.recorder.born(tensor)
        if not tensor.dtype.is_floating_point and tensor.numel() > 0:
            if device.on_device(tensor):
                native.zero(tensor.data_ptr())
            elif tensor.numel() <= SMALL:
                tensor.zero_()

    def shaped(self, func, name, args, kwargs):
        metas = {}  # id of the stand-in -> tensor
        kept = []

        def to_meta(value):
            if not isinstance(value, torch.Tensor):
                return value
            for meta, real in kept:
                if real is value:
                    return meta
            meta = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype,
                                       device="meta")
            metas[id(meta)] = value
            kept.append((meta, value))
            return meta
        stand_ins = tree_map(to_meta, args)
        keywords = tree_map(to_meta, kwargs)
        if precision.takes_device(func):
            keywords["device"] = device._real_device("meta")
            keywords.pop("pin_memory", None)
        if name in ops.RANDOM:
            result = precision.Meta.random(func, name, stand_ins, keywords)
        elif name in precision._SHAPES:
            result = precision._SHAPES[name](*stand_ins, **keywords)
        else:
            try:
                result = func(*stand_ins, **keywords)
            except NotImplementedError:
                raise Unsupported(f"the installed PyTorch cannot tell the shapes of {name}") \
                    from None

        def to_real(value):
            if not isinstance(value, torch.Tensor):
                return value
            if id(value) in metas:
                return metas[id(value)]
            made = torch.empty_strided(tuple(value.shape), value.stride(), dtype=value.dtype)
            self.blank(made)
            return made
        return tree_map(to_real, result)


class Loader(extension.Loader):
    recorder = None

    def call(self, extension_number, index, values):
        if self.state.recording:
            self.recorder.item("call", 0)
        result = super().call(extension_number, index, values)
        with self.state.by_harness():
            self.recorder.take_work()
        return result


def graphs(recorder):
    """torch.cuda's CUDA graphs: what is captured is listed, and listed again for every replay."""
    class CUDAGraph:
        def __init__(self, *args, **kwargs):
            self.items = []

        def capture_begin(self, *args, **kwargs):
            self.items = recorder.graph = []

        def capture_end(self):
            recorder.graph = None

        def replay(self):
            recorder.replay(self.items)

        def reset(self):
            self.items = []

        def pool(self):
            return (0, 0)

    @contextlib.contextmanager
    def graph(cuda_graph, *args, **kwargs):
        cuda_graph.capture_begin()
        try:
            yield
        finally:
            cuda_graph.capture_end()

    def make_graphed_callables(callables, *args, **kwargs):
        raise RuntimeError("make_graphed_callables is not supported here")

    cuda = torch.cuda
    cuda.CUDAGraph, cuda.graph = CUDAGraph, graph
    cuda.graph_pool_handle = lambda: (0, 0)
    cuda.is_current_stream_capturing = lambda: recorder.graph is not None
    cuda.make_graphed_callables = make_graphed_callables


def used(names, source):
    """What of `names` the text mentions: how far the list can be what a GPU would do."""
    return [n for n in names if n in source]


# Compilers that are not there, and choices that a file makes by a clock.
APPROXIMATE = ("torch.compile", "torch.jit", "triton", "cupy", "make_graphed_callables",
               "time.time", "perf_counter", "elapsed_time")


class Call:
    def __init__(self, state, recorder, source, name):
        self.state, self.recorder, self.source, self.name = state, recorder, source, name

    def guarded(self, doing, call):
        try:
            with torch.no_grad():
                return call()
        except Unsupported:
            raise
        except BaseException as error:  # whatever a candidate raises
            raise Unsupported(trials.explain(error, doing, self.name)) from None

    def listed(self, doing, model, inputs):
        self.recorder.clear()
        self.state.recording = True
        try:
            result = self.guarded(doing, lambda: model(*inputs))
        finally:
            self.state.recording = False
        found = []
        trials.flatten(result, found)
        return {"operators": {"version": 1, "operators": self.recorder.records, "results": [],
                              "input_bytes": 0, "parameter_bytes": 0, "torch": torch.__version__},
                "items": self.recorder.items,
                "shapes": [list(t.shape) for t in found]}

    def run(self, reference, module):
        space = module.__dict__

        def load(text, file):
            linecache.cache[file] = (len(text), None, text.splitlines(True), file)
            exec(compile(text, file, "exec"), space)  # its purpose
        self.guarded("loading the reference", lambda: load(reference, "reference.py"))
        model_class, get_inputs = space["Model"], space["get_inputs"]
        get_init_inputs = space.get("get_init_inputs", lambda: [])
        torch.manual_seed(SEED)
        init = self.guarded("get_init_inputs()", get_init_inputs)
        reference_model = self.guarded("creating Model", lambda: model_class(*init).cuda())
        self.guarded("loading the file", lambda: load(self.source, self.name))
        if "ModelNew" not in space:
            raise Unsupported("the file defines no class ModelNew")
        model = self.guarded("creating ModelNew", lambda: space["ModelNew"](*init).cuda())
        inputs = self.guarded("get_inputs()", get_inputs)
        inputs = [v.cuda() if isinstance(v, torch.Tensor) else v for v in inputs]
        for _ in range(WARM_UPS):
            self.guarded("forward()", lambda: model(*inputs))
            self.recorder.clear()
        mine = self.listed("forward()", model, inputs)
        theirs = self.listed("the reference's forward()", reference_model, inputs)
        # The benchmark refuses what has another shape: then something else was timed there.
        if mine["shapes"] != theirs["shapes"]:
            raise Unsupported("its results have other shapes than the reference's, which the "
                              "benchmark's own check refuses")
        with self.state.by_harness():
            counters = native.counters()
        return {"candidate": mine, "reference": theirs, "counters": counters,
                "approximate": used(APPROXIMATE, self.source),
                "tf32": bool(torch.backends.cuda.matmul.allow_tf32)}


def run(request, state, recorder, module):
    """Sends the answer: {"timing": {...}} or {"timing": {"why": text}}."""
    native.begin("0")
    recorder.clear()
    try:
        with device.Functions(state), operators.Whole(recorder), Shapes(state, recorder):
            answer = Call(state, recorder, request["source"], request["name"]).run(
                request["reference"], module)
    except (Unsupported, trials.CandidateError) as error:
        answer = {"why": str(error)[:1500]}
    native.send({"timing": answer})


class Autocast(torch.autocast):
    """Mixed precision as the CPU has it, which names nearly the same operators; bfloat16 costs what
    fp16 does."""

    def __init__(self, *args, enabled=True, **kwargs):
        super().__init__("cpu", dtype=torch.bfloat16, enabled=enabled)


def install(recorder):
    shims.install()
    graphs(recorder)
    torch.autocast = torch.cuda.amp.autocast = Autocast
