# SPDX-License-Identifier: Apache-2.0
"""Shape variants: sizes that go well with nobody's tiles, set together where the file accepts them
together, else as many of them as it accepts."""

# Of a constructor that takes sizes the inputs do not show.
INIT_SIZE_MIN = 8
NOT_SIZES = ("kernel", "stride", "pad", "dilation", "group", "head", "eps", "layer", "depth",
             "num_", "max_", "factor", "window", "rank", "patch", "ratio", "stages", "block_len")

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


# A size that is not accepted is rounded to a multiple of one of these: groups, heads, windows.
MULTIPLES = (2, 3, 4, 8, 16)
# A variant may cost so many times what the nominal one costs, or this much.
VARIANT_TIMES, VARIANT_FLOPS, VARIANT_BYTES = 3, 12_000_000, 6 << 20


class Variants:
    """Assignments to try for a label. `sizes` is a scaling.Sizes, `nominal` its scaled sizes."""

    def __init__(self, sizes, nominal):
        self.sizes = sizes
        self.nominal = nominal
        self.cost = sizes.measure(nominal)
        rank = sizes.rank_max()
        self.table = PLANS_DEEP if rank >= 3 else PLANS if rank == 2 else PLANS_FLAT
        self.inner = [s for s in sizes.slots if s.of_input and s.kind != "factor"]
        self.outer = [s for s in sizes.slots if not s.of_input and s.of_parameter
                      and s.kind != "factor" and s.nominal >= INIT_SIZE_MIN
                      and not any(word in s.name.lower() for word in NOT_SIZES)]

    def wanted(self, label, slot):
        base = self.nominal.get(slot.name, slot.nominal)
        position = slot.position or 2
        plan = self.table[label]
        size = plan[min(position, len(plan)) - 1]
        limit = max(2 * base, 3)
        if size <= limit or (position > 1 and label in LARGER_THAN_NOMINAL):
            return size
        return max([v for v in SMALL[label] if v <= limit], default=1)

    def accepted(self, values, label):
        """False if it is known that the file does not run with these sizes, that they cost too
        much, or that they leave a normalisation nothing to normalise."""
        if self.cost is None:
            return True
        cost = self.sizes.measure(values)
        if cost is None or (cost.flops is None and self.cost.flops is not None):
            return False
        if len(cost.parameters or []) != len(self.cost.parameters or []):
            return False  # a number of layers
        if label != "one" and cost.norm_min < min(2, self.cost.norm_min):
            return False
        if cost.flops is not None and cost.flops > max(
                VARIANT_TIMES * (self.cost.flops or 0), VARIANT_FLOPS):
            return False
        return cost.bytes <= max(VARIANT_TIMES * self.cost.bytes, VARIANT_BYTES)

    def candidates(self, label):
        """Most thorough first."""
        if label == "large":
            yield from self.large()
            return
        found = []
        for values in self.assignments(label):
            if values == self.nominal or values in found:
                continue
            found.append(values)
            if label in LARGER_THAN_NOMINAL:
                if self.sizes.costs_at_most(values, LARGER_BYTES, LARGER_FLOPS):
                    yield values
            elif self.accepted(values, label):
                yield values

    def assignments(self, label):
        if not self.inner:
            return
        by_position = sorted(self.inner, key=lambda s: s.position)
        if label == "empty":
            for slot in (by_position[-1], by_position[0]):
                yield {**self.nominal, slot.name: 0}
            return
        for group in (self.inner + self.outer, self.inner):
            yield {**self.nominal, **{s.name: self.wanted(label, s) for s in group}}
        yield self.one_by_one(label)
        for slot in (by_position[0], by_position[-1]):
            yield {**self.nominal, slot.name: self.wanted(label, slot)}

    def one_by_one(self, label):
        """Each size that is accepted beside those before it, itself or a multiple near it."""
        values = dict(self.nominal)
        for slot in self.inner + self.outer:
            size = self.wanted(label, slot)
            tries = [size]
            for multiple in MULTIPLES:
                near = max(size // multiple, 1) * multiple
                if near not in tries and near != values[slot.name]:
                    tries.append(near)
            for one in tries:
                trial = {**values, slot.name: one}
                if self.accepted(trial, label):
                    values = trial
                    break
        return values

    def large(self):
        """The odd sizes with the outermost dimension stretched; [] where that costs too much."""
        for values in self.candidates("odd"):
            outermost = max((s for s in self.sizes.slots if s.name in values and s.of_input),
                            key=lambda s: s.position or 0)
            cost = self.sizes.measure(values)
            if cost is None or not cost.bytes:
                continue
            size = values[outermost.name]
            values = dict(values)
            values[outermost.name] = int(size * LARGE_BYTES / cost.bytes) | 1
            if values[outermost.name] > size and self.sizes.costs_at_most(
                    values, 2 * LARGE_BYTES, LARGE_FLOPS):
                return [values]
        return []
