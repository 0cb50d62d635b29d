# SPDX-License-Identifier: Apache-2.0
"""The policy files of src/verify/policy: a name or a path to a dict with all differences applied.

A file may extend another one: objects are merged, lists and values replace what was there, a key
"+name" appends to the list `name` and "-name" removes from it. verify/policy.cpp does the same.
"""
import json
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../verify/policy")
EXTENDS_MAX = 4


def _merge(base, change):
    for key, value in change.items():
        if key[:1] == "+":
            base[key[1:]] = base.get(key[1:], []) + value
        elif key[:1] == "-":
            base[key[1:]] = [item for item in base.get(key[1:], []) if item not in value]
        elif isinstance(value, dict) and isinstance(base.get(key), dict):
            _merge(base[key], value)
        else:
            base[key] = value


def load_policy(name="default", depth=0):
    """`name` is default, strict, lenient, or the path of a file."""
    if depth >= EXTENDS_MAX:
        raise ValueError(f"reading policy {name}: extends more than {EXTENDS_MAX} others")
    path = name if name.endswith(".json") else os.path.join(FOLDER, name + ".json")
    with open(path, encoding="utf-8") as file:
        change = json.load(file)
    parent = change.pop("extends", None)
    policy = load_policy(parent, depth + 1) if parent else {}
    _merge(policy, change)
    return policy
