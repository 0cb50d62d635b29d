# SPDX-License-Identifier: Apache-2.0
"""What sizes cost, told from shapes alone, and smaller sizes that the file accepts.

A file accepts sizes if it can be loaded, built and run with them on tensors without values
(precision.Meta), where assertions, divisibility and kernels larger than their image fail as they
would with values. So nothing has to be known about groups, heads, patches or chunks: what fails is
not taken, or taken together with another size."""

import math

import torch
from torch.utils._pytree import tree_flatten

from . import slots
from .errors import BadFile
from .precision import Meta

PROBE_SEED = 1
GAIN = 0.95  # a step must bring the cost down to that
STEPS_MAX = 100
MEASURES_MAX = 600
FAR = 8  # beyond that many times the budget all sizes are halved at once
FAR_BEYOND = 50  # one image is enough of a network that costs so much
FLOOR, FLOOR_OUTER, FLOOR_SPATIAL, FLOOR_FACTOR = 4, 2, 8, 0.2
# Networks: many operations on images. Batch statistics of images of one pixel are noise.
DEEP_OPS, FLOOR_SPATIAL_DEEP = 24, 16
# Deep networks may cost more: so many times the budget for every this many operations.
BUDGET_OPS, BUDGET_TIMES_MAX = 12, 8
AUDIT_ROWS = 4
FIXED = ("kernel", "stride", "pad", "dilation", "eps")  # never scaled, by name
NORM_MIN = 8
INFINITE = float("inf")


class Cost:
    """flops: None = forward() cannot be run on shapes; infinite = too long to find out."""

    def __init__(self, inputs, parameters, flops, ops, size, lengths=0.0, norm_min=INFINITE,
                 results=None):
        self.inputs = inputs
        self.parameters = parameters
        self.flops = flops
        self.ops = ops
        self.bytes = size
        self.lengths = lengths
        self.norm_min = norm_min
        self.results = results  # how many numbers forward() returns

    def parameter_bytes(self):
        return sum(4 * math.prod(shape) for shape in self.parameters or [])


def _bytes(tensors):
    return sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))


class Sizes:
    """The slots of a source and what depends on them."""

    def __init__(self, source):
        self.source = source
        self.slots = slots.module_slots(source.tree)
        source.load()  # a file that cannot be loaded is reported here, once
        self.base = None
        self.measures = 0
        self.explore(self.slots)
        if not any(s.of_input for s in self.slots):
            self.slots = slots.literal_slots(source.tree)
            self.explore(self.slots)
        self.slots = [s for s in self.slots if s.of_input or s.of_parameter]

    def add_more(self):
        """Numbers that are touched only if the others do not suffice. Whether there were any."""
        count = len(self.slots)
        nodes = {id(n) for s in self.slots for n in s.nodes}
        loaded = self.source.load()
        try:
            given = len(loaded.init_arguments()[0])
        except BadFile:
            given = 0
        more = [s for s in slots.literal_slots(self.source.tree)
                if not any(id(n) in nodes for n in s.nodes)]
        more += slots.factor_slots(self.source.tree)
        more += slots.default_slots(self.source.tree, self.source.passed, given)
        taken = {s.name for s in self.slots}
        more = [s for s in more if s.name not in taken]
        self.slots = self.slots + more
        self.explore(more)
        self.slots = [s for s in self.slots if s.of_input or s.of_parameter]
        return len(self.slots) > count

    def settle(self, nominal):
        """After scaling: numbers that were not needed are no slots."""
        kept = []
        for slot in self.slots:
            if slot.kind == "default":
                slot.used = nominal[slot.name] != slot.nominal
            if slot.kind in ("module", "literal") or nominal[slot.name] != slot.nominal:
                kept.append(slot)
            else:
                slot.set(slot.nominal)
        self.slots = kept
        for name in [n for n in nominal if n not in {s.name for s in kept}]:
            del nominal[name]
        self.apply(nominal)

    def apply(self, values):
        """values: {slot name: size}; the others are nominal."""
        for slot in self.slots:
            slot.set(values.get(slot.name, slot.nominal))

    def nominal(self):
        return {s.name: s.nominal for s in self.slots}

    def measure(self, values):
        """The cost, without computing; None when the file has no inputs at these sizes."""
        self.measures += 1
        self.apply(values)
        try:
            with torch.no_grad(), Meta():
                loaded = self.source.load()
                inputs = loaded.inputs(PROBE_SEED)
        except BadFile:
            return None
        shapes = [tuple(v.shape) if isinstance(v, torch.Tensor) else None for v in inputs]
        size = _bytes(inputs)
        try:
            with torch.no_grad(), Meta():
                model = loaded.build(PROBE_SEED)
                state = list(model.parameters()) + list(model.buffers())
            parameters = [tuple(p.shape) for p in state]
            size += _bytes(state)
        except (BadFile, RuntimeError):
            return Cost(shapes, None, None, 0, size)
        mode = Meta()
        try:
            with torch.no_grad(), mode:
                results = tree_flatten(model(*inputs))[0]
        except Exception:  # the file may raise anything
            return Cost(shapes, parameters, INFINITE if mode.too_long else None, mode.ops, size)
        return Cost(shapes, parameters, mode.flops, mode.ops, size + _bytes(results),
                    mode.lengths, mode.norm_min,
                    sum(r.numel() for r in results if isinstance(r, torch.Tensor)))

    def explore(self, found):
        """Fills in what the slots change."""
        base = self.base or self.measure({})
        if base is None:
            return
        self.base = base
        for slot in found:
            more = slot.nominal / 2 if slot.kind == "factor" else slot.nominal + 1
            changed = self.measure({slot.name: more})
            if slot.kind != "factor" and (changed is None or changed.parameters is None):
                changed = self.measure({slot.name: slot.nominal * 2}) or changed
            if changed is None:
                continue
            self.compare(slot, base, changed)
        self.apply({})

    @staticmethod
    def compare(slot, base, changed):
        for old, new in zip(base.inputs, changed.inputs):
            if old is None or new is None or len(old) != len(new):
                continue
            for axis, (a, b) in enumerate(zip(old, new)):
                if a == b:
                    continue
                slot.of_input = True
                position = len(old) - axis
                slot.position = min(slot.position or position, position)
                slot.outermost = slot.outermost or (axis == 0 and len(old) >= 2)
                slot.inner = slot.inner or axis > 0
                slot.spatial = slot.spatial or (axis >= 2 and position <= 2)
        if base.parameters is not None and changed.parameters is not None:
            slot.of_parameter = base.parameters != changed.parameters

    def rank_max(self):
        if self.base is None:
            return 2
        return max([len(s) for s in self.base.inputs if s is not None], default=0)

    def costs_at_most(self, values, size, flops):
        cost = self.measure(values)
        return cost is not None and cost.bytes <= size and (
            cost.flops is None or cost.flops <= flops)


def halve(size):
    if isinstance(size, float):
        return size / 2
    return size // 2 | (size & 1)  # odd sizes stay odd


def budget_times(ops):
    return min(max(ops / BUDGET_OPS, 1.0), BUDGET_TIMES_MAX)


class Shrinking:
    """Makes sizes smaller step by step. `history` has all steps, so that a caller whose numbers
    become useless at the last one can go back."""

    def __init__(self, sizes, bytes_max, flops_max, parameter_bytes_max=None):
        """With parameter_bytes_max, a limit of their own, sizes are for an audit: long sums stay
        long, as far as that is possible."""
        self.sizes = sizes
        self.bytes_max = bytes_max
        self.flops_max = flops_max
        self.parameter_bytes_max = parameter_bytes_max
        self.keep_reductions = parameter_bytes_max is not None
        self.values = sizes.nominal()
        self.cost = sizes.measure(self.values)
        self.history = [(self.values, self.cost)]
        self.failed = set()

    def over(self):
        """(bytes over budget, FLOP over budget) as factors; at most 1 = within."""
        if self.cost is None:
            return 0.0, 0.0
        flops = (self.cost.flops or 0) / (self.flops_max * budget_times(self.cost.ops))
        return self.bytes_over(self.cost), flops

    def bytes_over(self, cost):
        if self.parameter_bytes_max is None:
            return cost.bytes / self.bytes_max
        parameters = cost.parameter_bytes()
        return max((cost.bytes - parameters) / self.bytes_max,
                   parameters / self.parameter_bytes_max)

    def few_rows(self):
        """Of an audit: rows that nothing is summed over say little, and the others, as of batch
        statistics, less than the length of the rows."""
        for slot in self.sizes.slots:
            rows = slot.outermost and not slot.inner and not slot.of_parameter
            if not rows or not isinstance(slot.nominal, int):
                continue
            if slot.nominal > AUDIT_ROWS:
                self.accept({**self.values, slot.name: AUDIT_ROWS}, gaining=False)
            self.keep_reductions = False
            while max(self.over()) > 1 and self.values[slot.name] >= 2 * AUDIT_ROWS:
                if not self.accept({**self.values, slot.name: halve(self.values[slot.name])}):
                    break
            self.keep_reductions = True

    def run(self):
        if self.keep_reductions:
            self.few_rows()
        for _ in range(STEPS_MAX):
            over = self.over()
            if max(over) <= 1 or self.sizes.measures > MEASURES_MAX:
                break
            if max(over) > FAR and not self.keep_reductions and self.all_at_once():
                continue
            if not self.step():
                if not self.keep_reductions:
                    break
                self.keep_reductions = False
        self.sizes.apply({})
        return self

    def floor(self, slot):
        deep = self.cost.ops >= DEEP_OPS
        if slot.kind == "factor":
            return FLOOR_FACTOR
        if self.keep_reductions:
            return FLOOR_OUTER
        if slot.spatial:
            return FLOOR_SPATIAL_DEEP if deep else FLOOR_SPATIAL
        if slot.outermost and deep:
            return 1 if FAR_BEYOND < self.over()[1] < INFINITE else FLOOR_OUTER
        return FLOOR

    def accept(self, trial, gaining=True):
        """Takes the sizes if the file runs with them and, unless not `gaining`, they are cheaper
        where they cost too much."""
        if trial == self.values:
            return False
        cost = self.sizes.measure(trial)
        if cost is None or (cost.flops is None and self.cost.flops is not None):
            return False
        if cost.parameters is None and self.cost.parameters is not None:
            return False
        if self.keep_reductions and cost.lengths < self.cost.lengths - 1e-6:
            return False
        # A group of one number is normalised to a constant, and the task would be another one.
        if cost.norm_min < min(NORM_MIN, self.history[0][1].norm_min):
            return False
        over_bytes, over_flops = self.over()
        gains = over_bytes > 1 and self.bytes_over(cost) <= GAIN * over_bytes
        if over_flops > 1 and cost.flops is not None:
            gains = gains or cost.flops <= GAIN * self.cost.flops
            if cost.flops == INFINITE:  # both too long to measure
                gains = gains or cost.bytes <= GAIN * self.cost.bytes
        # The other of the two costs must not grow out of hand.
        grows = over_flops > 1 and (cost.flops or 0) > 2 * (self.cost.flops or 0)
        if gaining and (not gains or grows):
            return False
        self.values, self.cost = trial, cost
        self.history.append((trial, cost))
        return True

    @staticmethod
    def fixed(slot):
        return any(word in slot.name.lower() for word in FIXED)

    def smaller(self, slot):
        if self.fixed(slot):
            return None
        size = halve(self.values[slot.name])
        return size if size >= self.floor(slot) else None

    def all_at_once(self):
        trial = dict(self.values)
        for slot in self.sizes.slots:
            size = self.smaller(slot)
            if slot.kind != "factor" and size is not None and size >= 16:
                trial[slot.name] = size
        return self.accept(trial)

    def step(self):
        """One change, the largest size first; what has failed at a size is tried again last."""
        order = sorted(self.sizes.slots, key=lambda s: -self.values[s.name])
        moves = []
        for slot in order:
            size = self.smaller(slot)
            if size is not None:
                moves.append({slot.name: size})
        for value in sorted({self.values[s.name] for s in order}, reverse=True):
            group = [s for s in order if self.values[s.name] == value]
            if len(group) > 1 and all(self.smaller(s) is not None for s in group):
                moves.append({s.name: self.smaller(s) for s in group})
        for move in moves:
            key = tuple((n, self.values[n]) for n in move)
            if key in self.failed:
                continue
            if self.accept({**self.values, **move}):
                return True
            self.failed.add(key)
        for move in moves:
            if self.accept({**self.values, **move}):
                return True
        return self.finer(order) or self.pairs(order)

    def finer(self, order):
        """Three quarters, seven eighths: images that must keep a number of pixels at the end."""
        for numerator, denominator in ((3, 4), (7, 8), (15, 16)):
            for slot in order:
                value = self.values[slot.name]
                if isinstance(value, float) or value < 32 or self.fixed(slot):
                    continue
                size = value * numerator // denominator
                if size >= self.floor(slot) and self.accept({**self.values, slot.name: size}):
                    return True
        return False

    def pairs(self, order):
        """Two sizes that depend on each other, such as image and window: powers of two."""
        large = {}
        for slot in order:
            value = self.values[slot.name]
            if isinstance(value, int) and value >= 32:
                large.setdefault(value, []).append(slot)
        small = [s for s in order if isinstance(self.values[s.name], int)
                 and 3 <= self.values[s.name] <= 16 and not self.fixed(s)]
        for value, group in large.items():
            for size in (128, 64, 32, 16):
                if size >= value or any(size < self.floor(s) for s in group):
                    continue
                for slot in small:
                    for other in (8, 4, 2):
                        if other >= self.values[slot.name] or slot in group:
                            continue
                        move = {**{s.name: size for s in group}, slot.name: other}
                        if self.accept({**self.values, **move}):
                            return True
        return False

    def earlier(self):
        """Larger sizes to fall back on: the steps backwards, then more rows than the file has."""
        for values, _ in reversed(self.history[:-1]):
            yield values
        outer = [s for s in self.sizes.slots if s.outermost and isinstance(s.nominal, int)]
        for times in (2, 4, 8):
            if outer:
                yield {**self.values, **{s.name: times * self.values[s.name] for s in outer}}


def shrink(sizes, *budget):
    """A finished Shrinking. Numbers other than sizes at module level are touched only where those
    leave the cost far beyond the budget."""
    done = Shrinking(sizes, *budget).run()
    if max(done.over()) > 2 and sizes.add_more():
        done = Shrinking(sizes, *budget).run()
    sizes.settle(done.values)
    return done
