# SPDX-License-Identifier: Apache-2.0
"""A KernelBench style module: `Model` (an nn.Module), `get_inputs()` and, unless the constructor
takes nothing, `get_init_inputs()`. It is executed anew for every shape variant from a syntax tree
whose sizes have been replaced, so that sizes used inside Model and the functions agree."""

import ast
import inspect
import linecache
import sys
import types

import torch

from . import devices, errors
from .errors import BadFile

MODULE_NAME = "reference"
LIST_MAX = 256
SCALARS = (bool, int, float, type(None))


class Stage:
    """Where a request is, for the process that will explain a sudden death."""
    LOAD, INIT_INPUTS, MODEL, INPUTS, FORWARD, WRITE = 1, 2, 3, 4, 5, 6

    def __init__(self, report=lambda stage: None):
        self.report = report


class Source:
    """The parsed file."""

    def __init__(self, text, name, stage=None):
        self.name = name
        self.stage = stage or Stage()
        self.passed = {}  # keyword arguments of the constructor beside those of get_init_inputs()
        lines = text.splitlines(True)
        linecache.cache[name] = (len(text), None, lines, name)
        try:
            self.tree = ast.parse(text, filename=name)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise errors.explain(error, "reading the file", name) from None

    def guarded(self, stage, doing, call):
        self.stage.report(stage)
        try:
            with devices.OnCpu():
                return call()
        except BaseException as error:  # exit and interrupts too: the file may raise anything
            raise errors.explain(error, doing, self.name) from error

    def load(self):
        """Executes the tree as it is now."""
        module = types.ModuleType(MODULE_NAME)
        module.__file__ = self.name
        sys.modules[MODULE_NAME] = module  # dataclasses and the like look there

        def run():
            exec(compile(self.tree, self.name, "exec"), module.__dict__)  # its purpose
        self.guarded(Stage.LOAD, "loading the file", run)
        return Loaded(self, module)


class Loaded:
    """One execution of the file."""

    def __init__(self, source, module):
        self.source = source
        self.module = module
        self.passed = dict(source.passed)
        self.model_class = getattr(module, "Model", None)
        if self.model_class is None:
            found = [k for k, v in vars(module).items()
                     if isinstance(v, type) and issubclass(v, torch.nn.Module)
                     and v.__module__ == MODULE_NAME]
            hint = f"; rename {found[0]} to Model" if found else ""
            raise BadFile(f"the file defines no class Model{hint}")
        if not (isinstance(self.model_class, type)
                and issubclass(self.model_class, torch.nn.Module)):
            raise BadFile("Model is not a class derived from torch.nn.Module")
        if not callable(getattr(module, "get_inputs", None)):
            raise BadFile("the file defines no function get_inputs()")

    def init_arguments(self):
        """(args, kwargs) for the constructor."""
        args, kwargs = self.init_inputs()
        return args, {**kwargs, **self.passed}

    def init_inputs(self):
        function = getattr(self.module, "get_init_inputs", None)
        if function is None:
            return [], {}
        if not callable(function):
            raise BadFile("get_init_inputs is not a function")
        values = self.source.guarded(Stage.INIT_INPUTS, "calling get_init_inputs()", function)
        if isinstance(values, dict):
            return [], values
        if not isinstance(values, (list, tuple)):
            raise BadFile(f"get_init_inputs() returns {type(values).__name__}, not a list")
        if len(values) == 2 and isinstance(values[0], (list, tuple)) and isinstance(
                values[1], dict):
            return list(values[0]), values[1]
        return list(values), {}

    def build(self, seed):
        args, kwargs = self.init_arguments()

        def create():
            torch.manual_seed(seed)
            return self.model_class(*args, **kwargs)
        model = self.source.guarded(Stage.MODEL, "creating Model(*get_init_inputs())", create)
        return model

    def scalars(self):
        """[(name, value)] of the constructor's arguments that can be passed to a kernel, and the
        names of those that cannot."""
        args, kwargs = self.init_arguments()
        try:
            parameters = list(inspect.signature(self.model_class.__init__).parameters.values())[1:]
        except (TypeError, ValueError):
            parameters = []
        names = [p.name for p in parameters
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        pairs = [(names[i] if i < len(names) else f"arg{i}", v) for i, v in enumerate(args)]
        pairs += list(kwargs.items())
        kept, left = [], []
        for name, value in pairs:
            if isinstance(value, SCALARS) or (
                    isinstance(value, (list, tuple)) and len(value) <= LIST_MAX
                    and all(isinstance(v, int) and not isinstance(v, bool) for v in value)):
                kept.append((name, list(value) if isinstance(value, (list, tuple)) else value))
            else:
                left.append(name)
        return kept, left

    def inputs(self, seed):
        def create():
            torch.manual_seed(seed)
            return self.module.get_inputs()
        values = self.source.guarded(Stage.INPUTS, "calling get_inputs()", create)
        if isinstance(values, torch.Tensor) or not isinstance(values, (list, tuple)):
            raise BadFile(f"get_inputs() returns {type(values).__name__}, not a list")
        if len(values) > LIST_MAX:
            raise BadFile(f"get_inputs() returns {len(values)} values, limit {LIST_MAX}")
        for index, value in enumerate(values):
            check_value(f"get_inputs()[{index}]", value)
        return list(values)

    def input_names(self, count):
        """Names of forward's parameters, in order."""
        try:
            parameters = list(inspect.signature(self.model_class.forward).parameters.values())[1:]
        except (TypeError, ValueError):
            parameters = []
        names = [p.name for p in parameters
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        rest = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), None)
        needed = sum(1 for p in parameters if p.default is p.empty and p.kind in (
            p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
        if count < needed or (count > len(names) and rest is None):
            raise BadFile(f"get_inputs() returns {count} values, forward() takes {len(names)}")
        return [names[i] if i < len(names) else f"{rest}{i - len(names)}" for i in range(count)]


DTYPES = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.int8: "i8", torch.uint8: "u8", torch.int16: "i16", torch.int32: "i32",
    torch.int64: "i64", torch.bool: "bool",
}
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
HALVES = (torch.float16, torch.bfloat16)


def check_value(what, value):
    """Tensors and scalars that an argument can be."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            raise BadFile(f"{what} is a sparse tensor; only dense ones are supported",
                          "unsupported")
        if value.dtype not in DTYPES:
            raise BadFile(f"{what} has dtype {value.dtype}, which is not supported", "unsupported")
        if value.is_quantized:
            raise BadFile(f"{what} is a quantized tensor, which is not supported", "unsupported")
        if value.dim() > 16:
            raise BadFile(f"{what} has {value.dim()} dimensions, limit 16")
        return
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        raise BadFile(f"{what} is a list of tensors; pass them one by one", "unsupported")
    if isinstance(value, (list, tuple)) and len(value) <= LIST_MAX and all(
            isinstance(v, int) for v in value):
        return
    if not isinstance(value, SCALARS):
        raise BadFile(f"{what} is a {type(value).__name__}; only tensors, numbers, None and lists "
                      "of integers can be passed to a kernel", "unsupported")


def outputs_of(value):
    """[(name, tensor)] of what forward() returned."""
    if isinstance(value, torch.Tensor):
        return [("y", value)]
    if isinstance(value, dict):
        pairs = [(str(k), v) for k, v in value.items()]
    elif isinstance(value, (list, tuple)):
        pairs = [(f"y{i}", v) for i, v in enumerate(value)]
        flat = []
        for name, item in pairs:  # an LSTM returns (y, (h, c))
            if isinstance(item, (list, tuple)):
                flat += [(f"{name}_{i}", v) for i, v in enumerate(item)]
            else:
                flat.append((name, item))
        pairs = flat
    else:
        raise BadFile(f"forward() returns {type(value).__name__}, not a tensor; return a tensor or "
                      "a tuple of tensors")
    if not pairs or len(pairs) > LIST_MAX:
        raise BadFile(f"forward() returns {len(pairs)} tensors, allowed are 1 to {LIST_MAX}")
    for name, item in pairs:
        if not isinstance(item, torch.Tensor):
            raise BadFile(f"forward() returns {type(item).__name__} in output {name}, not a tensor")
        if item.layout != torch.strided or item.dtype not in DTYPES:
            raise BadFile(f"forward() returns a tensor of dtype {item.dtype} and layout "
                          f"{item.layout} in output {name}, which is not supported", "unsupported")
    return pairs
