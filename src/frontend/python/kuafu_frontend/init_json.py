# SPDX-License-Identifier: Apache-2.0
"""What a constructor was called with, as JSON from which another process can call it again.

  {"args": [...], "kwargs": {...}}
  None, booleans, integers, texts and lists are themselves; so are finite floats, which JSON in
  Python writes and reads exactly. The rest is an object with one key:
  {"__tuple__": [...]}  {"__float__": "inf"}  {"__int__": "more than 64 bits"}
  {"__dict__": [[key, value], ...]}  keys that are not texts, or could be taken for one of these
"""

import json
import math

import torch

BYTES_MAX = 64 << 10
DEPTH_MAX = 16


class NotJson(Exception):
    """The text says which value cannot be written."""


def _encode(value, depth):
    if depth > DEPTH_MAX:
        raise NotJson("lists in lists without end")
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return value if -(1 << 63) <= value < 1 << 63 else {"__int__": str(value)}
    if type(value) is float:
        return value if math.isfinite(value) else {"__float__": repr(value)}
    if type(value) is list:
        return [_encode(v, depth + 1) for v in value]
    if type(value) in (tuple, torch.Size):
        return {"__tuple__": [_encode(v, depth + 1) for v in value]}
    if type(value) is dict:
        if all(type(k) is str and not k.startswith("__") for k in value):
            return {k: _encode(v, depth + 1) for k, v in value.items()}
        return {"__dict__": [[_encode(k, depth + 1), _encode(v, depth + 1)]
                             for k, v in value.items()]}
    raise NotJson(f"a {type(value).__name__}")


def encode(args, kwargs):
    """The text. Raises NotJson."""
    document = {"args": [_encode(v, 0) for v in args],
                "kwargs": {str(k): _encode(v, 0) for k, v in kwargs.items()}}
    text = json.dumps(document)
    if len(text) > BYTES_MAX:
        raise NotJson(f"{len(text)} bytes of JSON, limit {BYTES_MAX}")
    return text


def decode(text):
    """(args, kwargs) as they were."""
    def plain(value):
        if isinstance(value, list):
            return [plain(v) for v in value]
        if not isinstance(value, dict):
            return value
        if "__tuple__" in value:
            return tuple(plain(v) for v in value["__tuple__"])
        if "__float__" in value:
            return float(value["__float__"])
        if "__int__" in value:
            return int(value["__int__"])
        if "__dict__" in value:
            return {plain(k): plain(v) for k, v in value["__dict__"]}
        return {k: plain(v) for k, v in value.items()}
    document = json.loads(text)
    return ([plain(v) for v in document["args"]],
            {k: plain(v) for k, v in document["kwargs"].items()})
