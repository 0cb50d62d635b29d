# SPDX-License-Identifier: Apache-2.0
"""Shape variants: the integer constants of a file from which the shapes of its inputs follow are
found by changing one at a time and looking at get_inputs() on shapes alone, then set together.

Constants are those assigned at module level (`dim = 1024`, also in tuples and products of numbers).
A file that has none which matter gets the literals of get_inputs() and get_init_inputs() lifted,
equal literals together."""

import ast

import torch
from torch.utils._pytree import tree_flatten

from .errors import BadFile
from .precision import Meta

SLOTS_MAX = 32
SIZE_MIN_TO_VARY = 2
PROBE_SEED = 1
# Of a constructor that takes sizes the inputs do not show.
INIT_SIZE_MIN = 8
NOT_SIZES = ("kernel", "stride", "pad", "dilation", "group", "head", "eps", "layer", "depth",
             "num_", "max_", "factor", "window", "rank")

# label -> sizes for (last dimension, second to last, others); a size that is more than twice the
# nominal one is replaced by the largest of SMALL that is not.
PLANS = {
    "odd": (45, 7, 3), "prime": (257, 11, 2), "tile": (128, 32, 4), "one": (1, 1, 1),
    "tile+1": (129, 33, 2), "tile-1": (127, 31, 2), "warp+1": (33, 5, 2), "wide": (1031, 3, 1),
    "tall": (5, 301, 3), "empty": (64, 0, 0), "deep": (130, 131, 3), "many": (9, 3, 131),
}
# For inputs of three dimensions and more.
PLANS_DEEP = {
    "odd": (21, 13, 3), "prime": (67, 17, 2), "tile": (32, 16, 4), "one": (1, 1, 1),
    "tile+1": (33, 17, 3), "tile-1": (31, 15, 2), "warp+1": (65, 9, 1), "wide": (131, 5, 1),
    "tall": (7, 61, 2), "empty": (16, 8, 0), "deep": (20, 131, 2), "many": (7, 5, 131),
}
PLANS_FLAT = {
    "odd": (333,), "prime": (2053,), "tile": (1024,), "one": (1,), "tile+1": (1025,),
    "tile-1": (1023,), "warp+1": (33,), "wide": (4099,), "tall": (7,), "empty": (0,),
    "deep": (1031,), "many": (131,),
}
SMALL = {
    "odd": [1, 3, 5, 7, 9, 13, 21], "prime": [1, 2, 3, 5, 7, 11, 13, 17, 31, 61, 127],
    "tile": [1, 2, 4, 8, 16, 32, 64], "one": [1], "tile+1": [1, 3, 5, 9, 17, 33, 65],
    "tile-1": [1, 3, 7, 15, 31, 63], "warp+1": [1, 3, 5, 9, 17], "wide": [1, 3, 7, 13, 31, 67, 131],
    "tall": [1, 3, 5, 7], "empty": [0], "deep": [1, 3, 5, 9, 17, 33, 65], "many": [1, 3, 5, 7, 9],
}
QUICK = ["odd", "prime", "tile", "one"]
FULL = ["odd", "prime", "tile", "one", "tile+1", "tile-1", "warp+1", "wide", "tall", "empty",
        "deep", "many", "large"]
# Dimensions before the last, however small their nominal size: an index of eight bits shows beyond
# 127 only.
LARGER_THAN_NOMINAL = ("deep", "many")
LARGER_BYTES, LARGER_FLOPS = 4 << 20, 100_000_000
# Of inputs and results together, where the operation costs no more than that: kernels limit their
# grid, mostly to 1024 blocks of 256 threads, and the loop over the rest runs beyond it only.
LARGE_BYTES, LARGE_FLOPS = 2_500_000, 20_000_000


class Slot:
    """One integer constant; several syntax nodes when literals were lifted together."""

    def __init__(self, name, value, nodes):
        self.name = name
        self.nominal = value
        self.nodes = nodes
        self.last = False  # in the last dimension of an input
        self.position = None  # smallest distance from the end over all inputs; 1 = last
        self.of_input = False
        self.of_parameter = False

    def set(self, value):
        for node in self.nodes:
            node.value = value


def _constant_value(node):
    """The value of an integer expression without names, or None."""
    if isinstance(node, ast.Constant):
        value = node.value
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    if isinstance(node, ast.BinOp):
        left, right = _constant_value(node.left), _constant_value(node.right)
        if left is None or right is None or max(abs(left), abs(right)) > 1 << 40:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.FloorDiv) and right:
            return left // right
        if isinstance(node.op, ast.Pow) and 0 <= right <= 40 and abs(left) <= 1024:
            return left ** right
        if isinstance(node.op, ast.LShift) and 0 <= right <= 40:
            return left << right
    return None


def _replace(parent, field, index, value):
    node = ast.Constant(value=value)
    old = getattr(parent, field)
    ast.copy_location(node, old if index is None else old[index])
    if index is None:
        setattr(parent, field, node)
    else:
        old[index] = node
    return node


def module_slots(tree):
    slots = []
    for statement in tree.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        if isinstance(target, ast.Name):
            constant = _constant_value(value)
            if constant is not None:
                slots.append(Slot(target.id, constant, [_replace(statement, "value", None,
                                                                 constant)]))
            elif isinstance(value, (ast.Tuple, ast.List)):
                for i, item in enumerate(value.elts):
                    constant = _constant_value(item)
                    if constant is not None:
                        slots.append(Slot(f"{target.id}[{i}]", constant,
                                          [_replace(value, "elts", i, constant)]))
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(
                target.elts) == len(value.elts):
            for i, (name, item) in enumerate(zip(target.elts, value.elts)):
                constant = _constant_value(item)
                if isinstance(name, ast.Name) and constant is not None:
                    slots.append(Slot(name.id, constant, [_replace(value, "elts", i, constant)]))
    return [s for s in slots if s.nominal >= 1][:SLOTS_MAX]


def literal_slots(tree):
    """Literals within calls in get_inputs() and get_init_inputs(), by value."""
    groups = {}
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or function.name not in (
                "get_inputs", "get_init_inputs"):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(
                    node.value, bool) and node.value >= SIZE_MIN_TO_VARY:
                groups.setdefault(node.value, []).append(node)
    return [Slot(str(value), value, nodes) for value, nodes in sorted(
        groups.items(), reverse=True)][:SLOTS_MAX]


class Sizes:
    """The slots of a source and what depends on them."""

    def __init__(self, source):
        self.source = source
        self.slots = module_slots(source.tree)
        ast.fix_missing_locations(source.tree)
        self.base = None
        source.load()  # a file that cannot be loaded is reported here, once
        self.explore()
        if not any(s.of_input for s in self.slots):
            self.slots = literal_slots(source.tree)
            self.explore()
        self.slots = [s for s in self.slots if s.of_input or s.of_parameter]

    def apply(self, values):
        """values: {slot name: size}; the others are nominal."""
        for slot in self.slots:
            slot.set(values.get(slot.name, slot.nominal))

    def nominal(self):
        return {s.name: s.nominal for s in self.slots}

    def measure(self, values):
        """(input shapes, parameter shapes or None, FLOP or None, bytes of all) without computing;
        None when the file cannot be run on shapes."""
        self.apply(values)
        try:
            with torch.no_grad(), Meta():
                loaded = self.source.load()
                inputs = loaded.inputs(PROBE_SEED)
        except BadFile:
            return None
        shapes = [tuple(v.shape) if isinstance(v, torch.Tensor) else None for v in inputs]
        size = sum(v.numel() * v.element_size() for v in inputs if isinstance(v, torch.Tensor))
        try:
            with torch.no_grad(), Meta():
                model = loaded.build(PROBE_SEED)
                state = [p for p in list(model.parameters()) + list(model.buffers())]
            parameters = [tuple(p.shape) for p in state]
            size += sum(p.numel() * p.element_size() for p in state)
        except (BadFile, RuntimeError):
            return Cost(shapes, None, None, size)
        try:
            mode = Meta()
            with torch.no_grad(), mode:
                results = tree_flatten(model(*inputs))[0]
        except Exception:  # many operations have no shape function; a real run will tell
            return Cost(shapes, parameters, None, size)
        return Cost(shapes, parameters, mode.flops, size + sum(
            t.numel() * t.element_size() for t in results if isinstance(t, torch.Tensor)))

    def explore(self):
        base = self.measure({})
        if base is None:
            return
        self.base = base
        for slot in self.slots:
            changed = self.measure({slot.name: slot.nominal + 1})
            if changed is None:
                changed = self.measure({slot.name: slot.nominal * 2})
            if changed is None:
                continue
            for old, new in zip(base.inputs, changed.inputs):
                if old is None or new is None or len(old) != len(new):
                    continue
                for axis, (a, b) in enumerate(zip(old, new)):
                    if a != b:
                        slot.of_input = True
                        position = len(old) - axis
                        slot.position = min(slot.position or position, position)
            if base.parameters is not None and changed.parameters is not None:
                slot.of_parameter = base.parameters != changed.parameters
        self.apply({})

    def rank_max(self):
        if self.base is None:
            return 2
        return max([len(s) for s in self.base.inputs if s is not None], default=0)

    def varied(self):
        """Slots to vary: those of inputs, and large ones of the constructor."""
        inner = [s for s in self.slots if s.of_input]
        outer = [s for s in self.slots if not s.of_input and s.of_parameter
                 and s.nominal >= INIT_SIZE_MIN
                 and not any(word in s.name.lower() for word in NOT_SIZES)]
        return inner, outer

    def large(self, nominal):
        """The odd sizes with the outermost dimension stretched; [] where that costs too much."""
        for values in self.candidates("odd", nominal):
            outermost = max((s for s in self.slots if s.name in values and s.of_input),
                            key=lambda s: s.position or 0)
            cost = self.measure(values)
            if cost is None or not cost.bytes:
                continue
            size = values[outermost.name]
            values = dict(values)
            values[outermost.name] = int(size * LARGE_BYTES / cost.bytes) | 1
            if values[outermost.name] > size and self.costs_at_most(values, 2 * LARGE_BYTES,
                                                                    LARGE_FLOPS):
                return [values]
        return []

    def candidates(self, label, nominal):
        """Assignments to try for a label, most thorough first."""
        if label == "large":
            return self.large(nominal)
        inner, outer = self.varied()
        rank = self.rank_max()
        table = PLANS_DEEP if rank >= 3 else PLANS if rank == 2 else PLANS_FLAT
        plan = table[label]

        def size(slot):
            base = nominal.get(slot.name, slot.nominal)
            position = slot.position or 2
            wanted = plan[min(position, len(plan)) - 1]
            limit = max(2 * base, 3)
            if wanted <= limit or (position > 1 and label in LARGER_THAN_NOMINAL):
                return wanted
            return max([v for v in SMALL[label] if v <= limit], default=1)
        if not inner:
            return []
        tries = [inner + outer, inner]
        by_position = sorted(inner, key=lambda s: s.position)
        tries += [by_position[:1], by_position[-1:]]
        if label == "empty":
            tries = [by_position[-1:], by_position[:1]]
        found = []
        for group in tries:
            values = dict(nominal)
            values.update({s.name: size(s) for s in group})
            if label == "empty":
                values = dict(nominal)
                values.update({s.name: 0 for s in group})
            if values != nominal and values not in found:
                found.append(values)
        if label in LARGER_THAN_NOMINAL:
            found = [v for v in found if self.costs_at_most(v, LARGER_BYTES, LARGER_FLOPS)]
        return found

    def costs_at_most(self, values, size, flops):
        cost = self.measure(values)
        return cost is not None and cost.bytes <= size and (
            cost.flops is None or cost.flops <= flops)


class Cost:
    def __init__(self, inputs, parameters, flops, size):
        self.inputs = inputs
        self.parameters = parameters
        self.flops = flops
        self.bytes = size


def halve(size):
    return size // 2 | (size & 1)  # odd sizes stay odd


def shrink(sizes, budget_bytes, budget_flops):
    """Sizes within the budget, by halving the largest one again and again: (values, changed, cost).
    The cost is what shapes alone tell; its FLOP may be unknown."""
    values = sizes.nominal()
    cost = sizes.measure(values)
    changed = False
    for _ in range(200):
        if cost is None:
            break
        flops = cost.flops if cost.flops is not None else 0
        if cost.bytes <= budget_bytes and flops <= budget_flops:
            break
        done = False
        for slot in sorted(sizes.slots, key=lambda s: -values[s.name]):
            size = values[slot.name]
            if size <= 4:
                break
            trial = dict(values)
            trial[slot.name] = halve(size)
            trial_cost = sizes.measure(trial)
            if trial_cost is None:
                continue
            if trial_cost.flops is None and cost.flops is not None:
                continue  # forward() no longer runs
            if trial_cost.bytes >= cost.bytes and (trial_cost.flops or 0) >= flops:
                continue
            values, cost, changed, done = trial, trial_cost, True, True
            break
        if not done:
            break
    sizes.apply({})
    return values, changed, cost
