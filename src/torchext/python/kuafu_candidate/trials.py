# SPDX-License-Identifier: Apache-2.0
"""One candidate over the trials: ModelNew is created and called as the benchmark does it, with the
reference's parameters and fresh inputs. What is expected is not known here: outputs go to the
parent, which compares."""

import ctypes
import mmap
import traceback

import torch

from . import device, extension, native

_libc = ctypes.CDLL(None)
_libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
# No result depends on it, and the truth leaves it out as well (truth.py of the reference's side).
NOT_COMPARED = ("num_batches_tracked",)
LIST_MAX = 64


class CandidateError(Exception):
    """Something is wrong with the candidate. `status`: mismatch or threw."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class NeedsAsBuilt(Exception):
    """The reference's parameters cannot be given to this candidate: it has to make its own from the
    same seed. The message says why."""


def explain(error, doing, file):
    """`error` with the line of the candidate's file."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    place = f", line {lines[-1]}" if lines else ""
    text = " ".join(str(error).split())[:1500]
    return f"{doing}{place}: {type(error).__name__}: {text}"


def decode(value):
    """A constructor's argument, from JSON."""
    if isinstance(value, list):
        return [decode(v) for v in value]
    if isinstance(value, dict):
        if set(value) == {"__tuple__"}:
            return tuple(decode(v) for v in value["__tuple__"])
        if set(value) == {"__float__"}:
            return float(value["__float__"])
        return {k: decode(v) for k, v in value.items()}
    return value


class Inputs:
    """The storages of all trials, shared with the parent."""

    def __init__(self, fd, size):
        self.map = mmap.mmap(fd, size, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ) if size else None
        self.bytes = torch.frombuffer(self.map, dtype=torch.uint8) if size else None

    def tensor(self, argument):
        """A fresh copy on the device, and where its storage lies here."""
        dtype = extension._NAMES[argument["dtype"]]
        shape, strides = argument["shape"], argument["strides"]
        size = argument["storage_bytes"]
        with device.allocating(True):
            if size == 0:
                return torch.empty_strided(shape, strides, dtype=dtype), None
            whole = torch.empty(size, dtype=torch.uint8)
        at = argument["storage_at"]
        whole.copy_(self.bytes[at:at + size])
        native.set_name(whole.data_ptr(), argument["name"])
        return torch.as_strided(whole.view(dtype), shape, strides, argument["offset"]), \
            self.bytes.data_ptr() + at


def changed(tensor, original):
    """Whether the storage behind `tensor` still has the bytes at the address `original`."""
    address = tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()
    size = tensor.storage().size() * tensor.element_size()
    return _libc.memcmp(address, original, size) != 0


def no_dropout(model):
    """As in the reference, whose results would be random otherwise."""
    for module in model.modules():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            module.eval()
        elif isinstance(getattr(module, "dropout", None), float):
            module.dropout = 0.0


class Candidate:
    def __init__(self, state, module, file, reference=None):
        """`reference`: its class Model, to be run before the candidate, or None."""
        self.state, self.module, self.file = state, module, file
        self.reference = reference
        self.models = {}
        self.dropout_off = False

    def model_class(self):
        cls = getattr(self.module, "ModelNew", None)
        if cls is None:
            found = [k for k, v in vars(self.module).items() if isinstance(v, type)
                     and issubclass(v, torch.nn.Module) and v.__module__ == self.module.__name__]
            hint = f"; it has {', '.join(found[:4])}" if found else ""
            raise CandidateError("mismatch", "the file defines no class ModelNew" + hint)
        if not (isinstance(cls, type) and issubclass(cls, torch.nn.Module)):
            raise CandidateError("mismatch", "ModelNew is not a class derived from torch.nn.Module")
        return cls

    def run_reference(self, trial, inputs):
        torch.manual_seed(int(trial["model_seed"]))
        init = trial["init"]
        model = self.reference(*decode(init["args"]), **decode(init["kwargs"])).cuda()
        with torch.no_grad():
            return model(*inputs)

    def build(self, init, seed):
        cls = self.model_class()
        torch.manual_seed(seed)
        try:
            model = cls(*decode(init["args"]), **decode(init["kwargs"])).cuda()
            if self.dropout_off:
                no_dropout(model)
        except BaseException as error:  # whatever a candidate raises
            raise CandidateError("threw", explain(error, "creating ModelNew", self.file)) from None
        return model

    def model(self, trial, as_built):
        """A module with the values of this trial."""
        key = str(trial["init"]) + (str(trial["model_seed"]) if as_built else "")
        if key not in self.models:
            self.models[key] = self.build(trial["init"], int(trial["model_seed"]))
            with self.state.by_harness():
                self.models[key].__dict__["_kuafu_state"] = [
                    (t, t.detach().clone()) for t in state_of(self.models[key]).values()]
        return self.models[key]


def state_of(model):
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def loose_tensors(model):
    """Tensors that a module keeps outside its parameters and buffers."""
    for module in model.modules():
        for name, value in vars(module).items():
            if name in ("_parameters", "_buffers", "_modules", "_kuafu_state"):
                continue
            values = value if isinstance(value, (list, tuple)) else [value]
            if any(isinstance(v, torch.Tensor) for v in values[:LIST_MAX]):
                return f"attribute {name}"
    return None


def assignment(model, arguments):
    """[(tensor of the model, index in arguments)] for the reference's parameters and buffers."""
    wanted = [(i, a) for i, a in enumerate(arguments) if a["origin"] in ("parameter", "buffer")]
    if not wanted:
        return []
    have = state_of(model)
    pairs = [(have.get(a["name"]), i) for i, a in wanted]
    if any(t is None or list(t.shape) != arguments[i]["shape"] for t, i in pairs):
        # Other names: the order of creation decides, as it does for the random numbers.
        pairs = []
        for origin, mine in (("parameter", list(model.parameters())),
                             ("buffer", list(model.buffers()))):
            theirs = [(i, a) for i, a in wanted if a["origin"] == origin]
            if origin == "buffer" and not mine:
                continue  # running statistics that it does not keep
            if [list(t.shape) for t in mine] != [a["shape"] for _, a in theirs]:
                raise NeedsAsBuilt(f"its {origin}s are not those of the reference")
            pairs += [(t, i) for t, (i, _) in zip(mine, theirs)]
    taken = {id(t) for t, _ in pairs}
    extra = [n for n, t in have.items() if id(t) not in taken]
    extra = extra[0] if extra else loose_tensors(model)
    if extra:
        raise NeedsAsBuilt(f"it keeps further tensors ({extra}), which may depend on the "
                           "parameters")
    return pairs


def flatten(value, out, depth=0):
    if type(value) in (torch.Tensor, torch.nn.Parameter):
        out.append(value)
    elif isinstance(value, torch.Tensor):
        raise CandidateError("threw", f"forward() returned a {type(value).__name__}, which is not "
                             "a plain tensor")
    elif isinstance(value, (tuple, list)) and depth < 4:
        for item in value[:LIST_MAX]:
            flatten(item, out, depth + 1)
    elif isinstance(value, dict) and depth < 4:
        for item in list(value.values())[:LIST_MAX]:
            flatten(item, out, depth + 1)
    elif value is not None:
        raise CandidateError("threw", f"forward() returned a {type(value).__name__}, not a tensor")


class Run:
    """One trial under one order."""

    def __init__(self, candidate, inputs, trial, as_built):
        self.candidate, self.inputs, self.trial, self.as_built = candidate, inputs, trial, as_built
        self.state = candidate.state
        self.passed = []  # (name, tensor, address of the original bytes)
        self.buffers = []  # (index of the argument, tensor, address)
        self.outputs = []

    def prepare(self):
        trial = self.trial
        model = self.candidate.model(trial, self.as_built)
        with self.state.by_harness():
            forward = []
            for argument in trial["arguments"]:
                if argument["origin"] != "input":
                    continue
                forward.append(self.value(argument))
            with torch.no_grad():
                if self.as_built:
                    for tensor, value in model.__dict__["_kuafu_state"]:
                        tensor.data.copy_(value)
                else:
                    for tensor, index in assignment(model, trial["arguments"]):
                        self.fill(tensor, index)
        self.model, self.forward = model, forward

    def value(self, argument):
        kind = argument["kind"]
        if kind != "tensor":
            return argument.get("value")
        tensor, original = self.inputs.tensor(argument)
        if original is not None:
            self.passed.append((argument["name"], tensor, original))
        return tensor

    def fill(self, tensor, index):
        argument = self.trial["arguments"][index]
        value, original = self.inputs.tensor(argument)
        tensor.data = value
        if original is None:
            return
        if argument["name"].split(".")[-1] in NOT_COMPARED:
            return
        if argument["origin"] == "buffer":
            self.buffers.append((index, tensor, original))
        else:
            self.passed.append((argument["name"], tensor, original))

    def call(self, order_seed):
        expected = None  # alive while the candidate runs, and never looked at
        if self.candidate.reference is not None:
            expected = self.candidate.run_reference(self.trial, self.forward)
        native.begin(order_seed, self.trial.get("sampling"))
        self.state.operators.clear()
        torch.manual_seed(int(self.trial["seed"]) & (1 << 63) - 1)
        self.state.recording = True
        try:
            with torch.no_grad():
                result = self.model(*self.forward)
        except BaseException as error:  # whatever a candidate raises
            text = explain(error, "forward()", self.candidate.file)
            raise CandidateError("threw", text) from None
        finally:
            self.state.recording = False
        found = []
        flatten(result, found)
        del expected
        if not found:
            raise CandidateError("threw", "forward() returned no tensor")
        for tensor in found:
            if not device.on_device(tensor):
                raise CandidateError("threw", "forward() returned a tensor on the CPU, not on the "
                                     "GPU")
        self.result = found  # alive until the answer is sent
        self.outputs = [{"tensor": extension.tensor_json(t), "argument": -1} for t in found]
        for index, tensor, original in self.buffers:
            if changed(tensor, original):
                self.outputs.append({"tensor": extension.tensor_json(tensor), "argument": index})

    def answer(self, trial, order, order_seed, check_inputs):
        outcome = {"trial": trial, "order": order, "status": "ok", "error": "", "outputs": [],
                   "inputs_modified": [], "extra": {"operators": []}}
        try:
            self.prepare()
            self.call(order_seed)
            with self.state.by_harness():
                outcome["outputs"] = self.outputs
                if check_inputs:
                    outcome["inputs_modified"] = [n for n, t, o in self.passed if changed(t, o)]
        except CandidateError as error:
            outcome["status"], outcome["error"] = error.status, str(error)
        outcome["extra"]["operators"] = [[n, line] for n, line in self.state.operators.items()]
        native.answer(outcome)


def run(candidate, request, fds):
    """Answers every trial under every order. Raises NeedsAsBuilt before the first."""
    inputs = Inputs(fds[0], request["inputs_bytes"])
    as_built = request["as_built"]
    candidate.dropout_off = request["dropout_off"]
    if not as_built and request["trials"]:
        first = next((t for t in request["trials"] if not t["skip"]), None)
        if first is not None:
            try:
                with candidate.state.by_harness():
                    candidate.state.internal -= 1  # the constructor is the candidate's
                    try:
                        model = candidate.model(first, False)
                    finally:
                        candidate.state.internal += 1
                    assignment(model, first["arguments"])
            except CandidateError:
                pass  # it will be the first trial's answer
    for number, trial in enumerate(request["trials"]):
        if trial["skip"]:
            continue
        for order, seed in enumerate(request["order_seeds"]):
            if order > 0 and trial.get("sampling") is not None:
                break
            Run(candidate, inputs, trial, as_built).answer(number, order, seed,
                                                           request["check_inputs"])
            if native.stopped():
                native.send({"done": True, "stopped": True})
                return
    native.send({"done": True})
