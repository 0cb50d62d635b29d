# SPDX-License-Identifier: Apache-2.0
"""The forked process of one candidate: legality of the text, jail, execution, trials."""

import builtins
import gc
import os
import sys
import types

import torch

from . import device, extension, files, gpu, legality, native, policy, trials

MODULE_NAME = "candidate"
_policies = {}


def load_policy(name):
    if name not in _policies:
        _policies[name] = policy.load_policy(name)
    return _policies[name]


def legal(source, rules):
    """Tells the parent what the text does against the rules. False: it is not to be run."""
    found = legality.check(source, rules)
    if found:
        native.send({"legality": [
            {"code": f.code, "class": f.cls, "severity": f.severity, "message": f.message,
             "line": f.line, "column": f.column} for f in found]})
    return all(f.severity != "reject" for f in found)


def new_module(name):
    """An empty one whose code writes files to nowhere."""
    module = types.ModuleType(MODULE_NAME)
    module.__file__ = name
    sys.modules[MODULE_NAME] = module
    mine = types.ModuleType("builtins")
    mine.__dict__.update(vars(builtins))
    mine.open = files.opener(builtins.open)
    module.__dict__["__builtins__"] = mine.__dict__
    return module


def execute(source, name):
    module = new_module(name)
    exec(compile(source, name, "exec"), module.__dict__)  # its purpose
    return module


def run(request):
    """Everything that goes to the parent goes over the channel."""
    source, name = request["source"], request["name"]
    rules = load_policy(request["policy"] or "default")
    native.start(request["device"])
    state = device.State(rules["aten"], name)
    make = extension.Loader
    if request.get("timing"):
        from . import timing  # brings the frontend with it
        make = timing.Loader
    loader = make(state, extension.Sources(source), request["musa"])
    gpu.set_profile(request["profile"])
    gpu.install_extensions(loader)
    os.chdir("/")
    missing = native.enter_sandbox()["missing"]
    if request["policy"] and not legal(source, rules):
        return
    if request.get("timing"):
        loader.recorder = timing.Recorder()
        timing.install(loader.recorder)
        timing.run(request, state, loader.recorder, new_module(name))
        return
    with device.Functions(state), device.Operators(state):
        try:
            reference = None
            if request["reference"] is not None:
                # The protocol of KernelBench: reference and candidate share a process, a name space
                # and the memory of an allocator that keeps what was freed.
                native.keep_freed_blocks.value = 1
                reference = execute(request["reference"], "reference.py").__dict__["Model"]
            module = execute(source, name)
            candidate = trials.Candidate(state, module, name, reference)
            candidate.model_class()
        except trials.CandidateError as error:
            native.send({"refused": error.status, "error": str(error)})
            return
        except BaseException as error:  # whatever a candidate raises
            status = "mismatch" if isinstance(error, SyntaxError) else "threw"
            native.send({"refused": status,
                         "error": trials.explain(error, "loading the file", name)})
            return
        native.send({"ready": True, "missing": missing})
        while True:
            message, fds = native.receive()
            if "trials" not in message:
                return
            try:
                trials.run(candidate, message, fds)
            except trials.NeedsAsBuilt as reason:
                native.send({"as_built": str(reason)})


_SAMPLE = """
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="sample", cpp_sources="", cuda_sources="", functions=["f"])
class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))
        self.linear = nn.Linear(size, size)
    def forward(self, x):
        y = torch.empty_like(x.contiguous())
        y.copy_(x.view(-1).reshape(x.shape))
        return ext.f(y, self.weight, self.linear.bias, x.size(0), 1e-5)
"""
_REHEARSALS = 12  # the interpreter rewrites what has run eight times


class _Stub(extension.Loader):
    """Builds nothing; its function returns its first argument."""

    def load_inline(self, name, functions, **ignored):
        module = types.ModuleType(name)
        module.f = extension.Function(self, 0, "f")
        module.f.overloads.append((0, []))
        return module

    def call(self, extension_number, index, values):
        for value in values:
            extension._argument(value)
        return {"form": "single", "status": "ok", "values": [
            {"t": {"alias": 0, "bytes": 4, "dtype": "f32", "shape": list(values[0].shape),
                   "strides": list(values[0].stride()), "offset": 0}}]}


def rehearse():
    rules = load_policy("default")
    native.start({"target": "sim:h100", "warp_width": 32, "sanitize": False,
                  "memory_bytes": 1 << 24, "max_dispatches": 1})
    state = device.State(rules["aten"], "sample.py")
    loader = _Stub(state, extension.Sources(_SAMPLE), False)
    gpu.install_extensions(loader)
    legality.check(_SAMPLE, rules)
    with device.Functions(state), device.Operators(state):
        candidate = trials.Candidate(state, execute(_SAMPLE, "sample.py"), "sample.py")
        tensor = {"kind": "tensor", "dtype": "f32", "shape": [4], "strides": [1], "offset": 0,
                  "storage_at": 0, "storage_bytes": 16}
        inputs = trials.Inputs(None, 0)
        inputs.bytes = torch.zeros(16, dtype=torch.uint8)
        run = trials.Run(candidate, inputs, {
            "init": {"args": [4], "kwargs": {}}, "model_seed": "1", "seed": "1",
            "arguments": [dict(tensor, name="x", origin="input")]}, True)
        run.prepare()
        run.call("0")


def warm_up():
    """Work that every fork would otherwise repeat, and the memory it would otherwise copy: what
    has run here has been specialised by the interpreter and is linked and allocated."""
    import torch.utils.cpp_extension
    torch.utils.cpp_extension.CUDA_HOME = "/usr/local/cuda"
    for name in ("default", "strict", "lenient"):
        load_policy(name)
    gpu.install()
    files.install()
    gpu.set_profile({"name": "", "major": 0, "minor": 0})
    for _ in range(_REHEARSALS):
        rehearse()
        gc.collect()
        native.forget()
