# SPDX-License-Identifier: Apache-2.0
"""torch.utils.cpp_extension.load and load_inline over our own compiler. The sources go to the
parent process, which compiles them; what comes back is loaded here. Interfaces follow PyTorch's."""

import os
import re
import types

import torch

from . import device, files, native

_DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16",
           torch.bfloat16: "bf16", torch.int8: "i8", torch.uint8: "u8", torch.int16: "i16",
           torch.int32: "i32", torch.int64: "i64", torch.bool: "bool"}
_NAMES = {name: dtype for dtype, name in _DTYPES.items()}
_SCALAR_TYPES = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4,
                 torch.float16: 5, torch.float32: 6, torch.float64: 7, torch.bool: 11,
                 torch.bfloat16: 15}
INCLUDES_MAX = 8
_DEVICE_SUFFIXES = (".cu", ".mu", ".cuh")


def tensor_json(tensor):
    size = tensor.element_size()
    offset = tensor.storage_offset()
    address = tensor.data_ptr()
    base = address - offset * size if address else 0
    if tensor.dtype not in _DTYPES:
        raise TypeError(f"a tensor of {tensor.dtype} cannot be passed to C++")
    count = tensor.storage().size() if address else 0
    return {"base": base, "bytes": count * size, "dtype": _DTYPES[tensor.dtype],
            "shape": list(tensor.shape), "strides": list(tensor.stride()), "offset": offset,
            "cpu": not device.on_device(tensor)}


class Sources:
    """Where in its Python file each of the candidate's texts came from."""

    def __init__(self, source):
        self.source = source

    def line_of(self, text):
        """The line of the Python file on which the text begins, 0 = unknown. Only what stands
        there as it is, without escapes, is found: that is how people write code in strings."""
        at = self.source.find(text) if text.count("\n") > 2 else -1
        return self.source.count("\n", 0, at) + 1 if at >= 0 else 0


class Function:
    """One name of an extension; several definitions are overloads, tried in their order."""

    def __init__(self, loader, extension, name):
        self.loader, self.extension, self.__name__ = loader, extension, name
        self.overloads = []  # (index, parameters)

    def __call__(self, *args, **kwargs):
        errors = []
        for index, parameters in self.overloads:
            try:
                values = _bind(self.__name__, parameters, args, kwargs)
            except TypeError as error:
                errors.append(str(error))
                continue
            result = self.loader.call(self.extension, index, values)
            if result["status"] == "ok":
                return self.loader.results(result, values)
            if result["status"] != "mismatch":
                raise RuntimeError(result["error"])
            errors.append(result["error"])
        raise TypeError(f"{self.__name__}(): incompatible function arguments: "
                        + "; ".join(errors[:4]))


def _bind(name, parameters, args, kwargs):
    """The values in the order of the parameters."""
    if not parameters:
        if kwargs:
            raise TypeError(f"{name}() takes no keyword arguments: they have no py::arg")
        return list(args)
    if len(args) > len(parameters):
        raise TypeError(f"{name}() takes {len(parameters)} arguments but {len(args)} were given")
    values = list(args)
    left = dict(kwargs)
    for parameter in parameters[len(args):]:
        if parameter["name"] in left and parameter["name"]:
            values.append(left.pop(parameter["name"]))
        elif "default" in parameter:
            values.append(Default(parameter["default"]))
        else:
            raise TypeError(f"{name}() misses the argument {parameter['name'] or len(values)}")
    if left:
        raise TypeError(f"{name}() has no argument {next(iter(left))}")
    return values


class Default:
    """A default value, in the form in which it crosses."""

    def __init__(self, value):
        self.value = value


class Part(str):
    """Text with its line in the Python file, 0 = unknown."""
    place = 0


class Loader:
    def __init__(self, state, sources, musa):
        self.state, self.sources, self.musa = state, sources, musa
        self.kept = []  # tensors of which C++ holds a reference
        self.calls = 0

    # --- what candidates call ---

    def load_inline(self, name, cpp_sources="", cuda_sources=None, functions=None,
                    extra_cflags=None, extra_cuda_cflags=None, extra_ldflags=None,
                    extra_include_paths=None, build_directory=None, verbose=False, with_cuda=None,
                    is_python_module=True, with_pytorch_error_handling=True,
                    keep_intermediates=True, use_pch=False, musa_sources=None,
                    extra_musa_cflags=None, **ignored):
        cpp = _texts(cpp_sources, "cpp_sources")
        device_texts = _texts(cuda_sources, "cuda_sources") + _texts(musa_sources, "musa_sources")
        if isinstance(functions, str):
            functions = [functions]
        if functions is not None:
            docs = functions if isinstance(functions, dict) else {f: f for f in functions}
            lines = [f'm.def("{f}", torch::wrap_pybind_function({f}), "");' for f in docs]
            cpp = cpp + ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n" + "\n".join(lines) + "\n}"]
        suffix = ".mu" if self.musa else ".cu"
        units = [self.unit("main.cpp", cpp, False)]
        if device_texts:
            units.append(self.unit("cuda" + suffix, device_texts, True))
        return self.build(name, units, [*_list(extra_cflags), *_list(extra_cuda_cflags),
                                        *_list(extra_musa_cflags)], is_python_module)

    def load(self, name, sources, extra_cflags=None, extra_cuda_cflags=None, extra_ldflags=None,
             extra_include_paths=None, build_directory=None, verbose=False, with_cuda=None,
             is_python_module=True, is_standalone=False, keep_intermediates=True, **ignored):
        units = []
        if not _list(sources):
            raise AssertionError("load(): there are no sources")
        for path in _list(sources):
            path = os.path.normpath(str(path))
            text = files.written.get(path)
            if text is None:
                raise FileNotFoundError(
                    f"load(): the candidate has not written '{path}'; sources that lie elsewhere "
                    "do not exist here")
            units.append(self.unit(os.path.basename(path), self.expand(text, path, 0),
                                   path.endswith(_DEVICE_SUFFIXES)))
        return self.build(name, units, [*_list(extra_cflags), *_list(extra_cuda_cflags)],
                          is_python_module)

    # --- the harness ---

    def expand(self, text, path, depth):
        """The parts of a file in which the headers that the candidate wrote stand in place of
        their #include; each knows its line in the Python file."""
        first = self.sources.line_of(text)
        parts, lines, begin = [], text.split("\n"), 0

        def cut(end):
            if begin < end:
                parts.append(Part("\n".join(lines[begin:end])))
                parts[-1].place = first + begin if first else 0
        for number, line in enumerate(lines):
            match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            folder = os.path.dirname(path)
            header = files.written.get(
                os.path.normpath(os.path.join(folder, match[1]))) if match else None
            if header is None or depth >= INCLUDES_MAX:
                continue
            cut(number)
            begin = number + 1
            parts += self.expand(header.replace("#pragma once", ""), path, depth + 1)
        cut(len(lines))
        return parts

    def unit(self, file, texts, gpu):
        """PyTorch joins several texts by line breaks. `places`: [line of the unit, line of the
        Python file] where a text begins that stands there as a literal."""
        places, line = [], 1
        for text in texts:
            place = text.place if isinstance(text, Part) else self.sources.line_of(text)
            if place != 0:
                places.append([line, place])
            line += text.count("\n") + 1
        return {"file": file, "source": "\n".join(texts), "device": gpu, "places": places}

    def build(self, name, units, flags, is_python_module):
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"the extension's name {name!r} is not an identifier")
        defines = [f[2:].strip() for f in flags if isinstance(f, str) and f.startswith("-D")]
        defines.append("TORCH_EXTENSION_NAME=" + name)
        with self.state.by_harness():
            reply = native.load({"name": name, "units": units, "defines": defines})
        if not reply["ok"]:
            raise RuntimeError(f"Error building extension '{name}': " + reply["message"])
        if not is_python_module:
            raise RuntimeError(f"extension '{name}': operators registered by TORCH_LIBRARY are not "
                               "supported; use PYBIND11_MODULE or functions=[...]")
        module = types.ModuleType(name)
        for index, function in enumerate(reply["functions"]):
            *submodules, short = function["name"].split(".")
            owner = module
            for submodule in submodules:
                if not isinstance(owner.__dict__.get(submodule), types.ModuleType):
                    setattr(owner, submodule, types.ModuleType(owner.__name__ + "." + submodule))
                owner = getattr(owner, submodule)
            known = owner.__dict__.get(short)
            if not isinstance(known, Function):
                known = Function(self, reply["extension"], short)
                setattr(owner, short, known)
            known.overloads.append((index, function["parameters"]))
        return module

    def call(self, extension, index, values):
        self.calls += 1
        with self.state.by_harness():
            arguments = [_argument(v) for v in values]
            result = native.call(extension, index, arguments)
            for tensor, kept in zip(device.tensors_in(values), result.get("kept", ())):
                if kept:
                    self.kept.append(tensor)
        return result

    def results(self, result, values):
        with self.state.by_harness():
            made = [self.value(v, values) for v in result["values"]]
        if result["form"] == "none":
            return None
        if result["form"] == "tuple":
            return tuple(made)
        return made if result["form"] == "list" else made[0] if made else None

    def value(self, json, values):
        (kind, content), = json.items()
        if kind == "t":
            return self.tensor(content, values)
        if kind == "r":
            return float.fromhex(content)
        if kind == "rl":
            return [float.fromhex(v) for v in content]
        return content

    def tensor(self, content, values):
        dtype = _NAMES[content["dtype"]]
        if "alias" in content:
            whole = list(device.tensors_in(values))[content["alias"]]
        elif content["bytes"] == 0:
            native.release(content["handle"])
            return torch.empty_strided(content["shape"], content["strides"], dtype=dtype)
        else:
            whole = torch.utils.dlpack.from_dlpack(native.capsule(content["handle"]))
        if whole.dtype != dtype:
            whole = whole.view(dtype)
        return torch.as_strided(whole, content["shape"], content["strides"], content["offset"])


def _argument(value):
    if isinstance(value, Default):
        return value.value
    if isinstance(value, torch.Tensor):
        return {"t": tensor_json(value)}
    if value is None:
        return {"n": None}
    if isinstance(value, bool):
        return {"b": value}
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 63:
            raise TypeError(f"{value} does not fit into 64 bits")
        return {"i": value}
    if isinstance(value, float):
        return {"r": value.hex()}
    if isinstance(value, str):
        return {"s": value}
    if isinstance(value, device.device):
        return {"s": str(value)}
    if isinstance(value, torch.dtype):
        return {"i": _SCALAR_TYPES[value]}
    if isinstance(value, (list, tuple)):
        items = list(value)
        if items and all(isinstance(v, torch.Tensor) for v in items):
            return {"tl": [_argument(v)["t"] for v in items]}
        if all(isinstance(v, int) for v in items):
            return {"l": [int(v) for v in items]}
        if all(isinstance(v, (int, float)) for v in items):
            return {"rl": [float(v).hex() for v in items]}
    if hasattr(value, "item"):  # a scalar of NumPy
        return _argument(value.item())
    raise TypeError(f"a value of type {type(value).__name__} cannot be passed to C++")


def _list(value):
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)


def _texts(value, name):
    texts = _list(value)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{name} must be text, not {type(text).__name__}")
    return texts
