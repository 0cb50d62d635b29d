# SPDX-License-Identifier: Apache-2.0
"""From a reference file to the trials of a plan.

quick (9 trials): every shape with the values as written, and the value classes that find most,
spread over the shapes so that the small ones carry them:
  nominal  as written; large_mean
  odd      as written; negative_mean; zero_one
  prime    as written; small
  tile     normal
  one      as written
full: every shape as written, the large one with exact values; every class at the nominal and the
odd shape, and views (transposed, sliced, expanded) at the odd shape.

A class that the reference cannot stand is replaced by the next of its list, or dropped with a
note."""

import hashlib
import itertools
import re

import torch

from . import init_json, loader, ops, scaling, shapes, truth, values
from .errors import BadFile

QUICK_BYTES, QUICK_FLOPS = 2 << 20, 4_000_000
FULL_BYTES, FULL_FLOPS = 32 << 20, 400_000_000
HARD_BYTES = 768 << 20
# Of a trial at the sizes as the file has them: inputs, parameters and results, of which the helper
# holds up to a dozen copies; and what one run of the reference costs, of which there are four.
NOMINAL_BYTES, NOMINAL_FLOPS = 512 << 20, 200_000_000_000
# Of an audit: what a benchmark's own sizes make degenerate, its sums must be long to show. The sums
# of a linear layer are as long as its matrix is wide, so parameters have a limit of their own.
# A loss is the mean of everything: it comes near a constant as the square root of that.
AUDIT_BYTES, AUDIT_FLOPS, AUDIT_PARAMETER_BYTES = 24 << 20, 1_500_000_000, 320 << 20
AUDIT_BYTES_OF_LOSS, AUDIT_OPS_OF_LOSS = 1040 << 20, 4
# Larger modules have the same parameters at all shapes, where these have equal sizes.
MODEL_BYTES_SHARED = 4 << 20
SEEDS_PER_TRIAL = 3
# Of one run of the reference in fp64 with noise; measured, see expect().
SECONDS_PER_OP, SECONDS_PER_FLOP = 3e-4, 4e-10
PLAN_SECONDS = 24
# Steps of scaling to take back when the smallest sizes make no judge.
BACK_MAX, BACK_FLOPS = 10, 1_000_000_000
WRITTEN = "written"
NOTES_MAX = 64

QUICK_PLAN = [
    ("nominal", [WRITTEN]), ("nominal", ["large_mean", "offset", "edges"]),
    ("odd", [WRITTEN]), ("odd", ["negative_mean", "offset", "edges"]),
    ("odd", ["zero_one", "sparse", "constant"]),
    ("prime", [WRITTEN]), ("prime", ["small", "constant"]),
    ("tile", ["normal", WRITTEN]), ("one", [WRITTEN]),
]
NOMINAL_PLAN = [
    ("nominal", [WRITTEN]), ("nominal", ["normal"]), ("nominal", ["large_mean", "offset", "edges"]),
    ("nominal", ["negative_mean", "offset"]), ("nominal", ["zero_one", "sparse", "constant"]),
    ("nominal", ["small", "constant"]),
]
# KernelBench's own protocol: one shape, values as written, parameters as built, its seeds.
COMPAT_SEED, COMPAT_TRIALS = 42, 5
VIEWS = ["strided", "sliced", "expanded"]
ALL_CLASSES = ["normal", "uniform", "large_mean", "negative_mean", "offset", "small", "large",
               "denormal", "sparse", "constant", "zero_one", "special", "edges"]


def full_plan():
    # Of half a million terms a few may be missing within the tolerance, unless sums are exact.
    plan = [("nominal", [WRITTEN])] + [
        (label, ["zero_one", WRITTEN] if label == "large" else [WRITTEN]) for label in shapes.FULL]
    for label in ("nominal", "odd"):
        plan += [(label, [name]) for name in ALL_CLASSES]
    return plan + [(label, ["normal", WRITTEN]) for label in VIEWS]


def gib(size):
    return f"{size / (1 << 30):.2g} GiB"


def compat_seeds():
    torch.manual_seed(COMPAT_SEED)
    return [int(torch.randint(0, 2 ** 32 - 1, (1,)).item()) for _ in range(COMPAT_TRIALS)]


def derive(*parts):
    text = "/".join(str(p) for p in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "little")


class Variant:
    """The file at one set of sizes."""

    def __init__(self, maker, label, sizes):
        self.maker = maker
        self.label = label
        self.sizes = sizes
        maker.sizes.apply(sizes)
        self.loaded = maker.source.load()
        self.scalars, self.not_passed = self.loaded.scalars()
        shared = maker.shrinking.cost is not None and (
            maker.shrinking.cost.parameter_bytes() > MODEL_BYTES_SHARED)
        self.model_seed = COMPAT_SEED if maker.compat else derive(
            maker.seed, "model", "" if shared else label)
        self.init_json = self.encode_init()
        self.states = {}
        self.others = {}  # modules with other parameters
        self.draws = None
        self.written = WRITTEN
        self.names = None
        self.first = None  # the trial with values as written

    def encode_init(self):
        try:
            return init_json.encode(*self.loaded.init_arguments())
        except init_json.NotJson as error:
            self.maker.note(f"the constructor's arguments cannot be passed on: {error}")
            return ""

    def state(self, integral):
        if integral not in self.states:
            self.states[integral] = truth.State(self.build(self.model_seed, integral))
        return self.states[integral]

    def build(self, seed, integral):
        self.maker.sizes.apply(self.sizes)
        model = self.loaded.build(seed)
        if values.switch_off_dropout(model):
            self.maker.dropout_off = True
            self.maker.note("dropout is switched off: it has no single right answer")
        if not self.maker.as_built:
            values.randomise(model, derive(seed, "parameters"), integral)
        return model

    def other_results(self, class_name, inputs, seed, integral):
        """What forward() returns for other inputs of the same kind, and with other parameters:
        two lists of results, None where there is no such thing."""
        mode = truth.Half() if self.maker.half else None
        state = self.state(integral)

        def run(model, values_in):
            try:
                once = truth.Pass(self.maker.source, model, values_in, mode, seed)
            except BadFile:
                return None
            return [t for _, t in once.results]
        first = run(state.model, self.inputs(class_name, derive(seed, "other"))[0])
        if not state.parameters:
            return first, None
        if integral not in self.others:
            self.others[integral] = self.build(derive(self.model_seed, "other"), integral)
        return first, run(self.others[integral], truth.copies(inputs))

    def inputs(self, class_name, seed):
        """(inputs, whether the class changes any)."""
        if self.draws is None and class_name != WRITTEN:
            self.inputs(WRITTEN, seed)  # shows what is drawn
        self.maker.sizes.apply(self.sizes)
        mode = values.Values(None if class_name == WRITTEN else class_name, seed, self.draws)
        with torch.no_grad(), mode:
            made = self.loaded.inputs(seed)
        made = [v.detach() if isinstance(v, torch.Tensor) else v for v in made]
        if self.draws is None:
            mode.finish(made)
            self.draws = mode.draws
            self.written = mode.written_name()
            self.names = self.loaded.input_names(len(made))
        return made, mode.changed > 0


def as_view(value, label):
    """The same values in memory that is not dense. What lies between is poison."""
    if not isinstance(value, torch.Tensor) or value.numel() == 0 or value.dim() == 0:
        return value
    poison = float("nan") if value.is_floating_point() else (
        True if value.dtype == torch.bool else torch.iinfo(value.dtype).max)
    if label == "strided" and value.dim() >= 2:
        return value.transpose(-1, -2).contiguous().transpose(-1, -2)
    if label == "expanded":
        return value[:1].clone().expand(value.shape)
    shape = list(value.shape)
    shape[-1] = 2 * shape[-1] + 1 if value.dim() == 1 else shape[-1] + 5
    storage = torch.full(shape, poison, dtype=value.dtype)
    if value.dim() == 1:
        view = storage[1::2]
    else:
        view = storage[..., 3:3 + value.shape[-1]]
    view.copy_(value)
    return view


class Maker:
    def __init__(self, request, arenas, stage):
        self.request = request
        self.seed = int(request["seed"])
        self.inputs_arena, self.truth_arena = arenas
        self.source = loader.Source(request["source"], request["name"], stage)
        self.compat = bool(request.get("compat_kernelbench"))
        self.at_nominal = bool(request.get("nominal_trial")) and not request["nominal_only"]
        self.alternatives = bool(request.get("alternatives"))
        self.audit = self.compat and self.alternatives
        self.as_built = self.compat or bool(request.get("as_built"))
        self.half = re.search(r"\bhalf\b|float16|bfloat16", request["source"]) is not None
        self.notes = []
        self.variants = {}
        self.trials = []
        self.inputs_mutated = False
        self.dropout_off = False
        self.nominal_run = None
        self.nominal_truth = None
        self.layout = None  # of all trials: how many inputs, and the names of the rest
        self.sizes = scaling.Sizes(self.source)
        self.noise_runs = truth.NOISE_RUNS
        self.base_class = WRITTEN  # of the first trial at every shape
        self.sampled = False  # whether blocks may be left out in all trials

    def note(self, text):
        if len(self.notes) < NOTES_MAX and text not in self.notes:
            self.notes.append(text)

    def make(self):
        quick = self.compat or self.request["plan"] == "quick"
        self.choose_nominal(quick)
        plan = (NOMINAL_PLAN if self.request["nominal_only"]
                else QUICK_PLAN if quick else full_plan())
        self.first_trial(quick)
        self.shape_variants = shapes.Variants(self.sizes, self.nominal)
        if self.compat:
            self.add_compat()
        else:
            for label, classes in self.affordable(plan[1:]):
                self.add(label, classes)
            if self.at_nominal:
                self.add_nominal()
        return self.document()

    def refuse_nominal(self, cost):
        """Why there can be no trial at the sizes as written, or None."""
        if cost is None:
            return "the file has no inputs at the nominal sizes"
        if cost.bytes > NOMINAL_BYTES:
            return (f"nominal size needs {gib(cost.bytes)} for inputs, parameters and results, "
                    f"limit {gib(NOMINAL_BYTES)}")
        if (cost.flops or 0) > NOMINAL_FLOPS:
            return (f"nominal size needs {cost.flops / 1e9:.0f} GFLOP for each run of the "
                    f"reference, limit {NOMINAL_FLOPS / 1e9:.0f}")
        return None

    def add_nominal(self):
        """One trial at the sizes as the file has them, of which not every block is executed."""
        if all(s.nominal == self.nominal[s.name] for s in self.sizes.slots):
            self.note("the nominal sizes were not scaled: the first trial is at these")
            return
        cost = self.sizes.measure({})
        reason = self.refuse_nominal(cost)
        if reason is None:
            self.expect(cost)
            self.noise_runs = 2
            try:
                variant = Variant(self, "full size", self.sizes.nominal())
                self.store(variant, self.base_class, self.attempt(variant, self.base_class))
                self.trials[-1]["sampled"] = True
                return
            except (truth.Rejected, BadFile) as error:
                reason = str(error)
        self.note(f"{reason}: checked at the scaled size only")

    def add_compat(self):
        variant = self.variants["nominal"]
        for seed in compat_seeds()[1:]:
            self.store(variant, WRITTEN, self.attempt(variant, WRITTEN, must=True, seed=seed))

    def choose_nominal(self, quick):
        budget = (QUICK_BYTES, QUICK_FLOPS) if quick else (FULL_BYTES, FULL_FLOPS)
        if self.request["nominal_only"]:
            budget = (HARD_BYTES, 1 << 62)
        elif self.audit:
            base = self.sizes.base
            size = AUDIT_BYTES
            if base is not None and base.results == 1:  # all intermediate results may be alive
                size = max(size, AUDIT_BYTES_OF_LOSS * AUDIT_OPS_OF_LOSS // max(
                    base.ops, AUDIT_OPS_OF_LOSS))
            budget = (size, AUDIT_FLOPS, AUDIT_PARAMETER_BYTES)
        self.shrinking = scaling.shrink(self.sizes, *budget)
        cost = self.shrinking.cost
        if self.request["nominal_only"] and cost is not None:
            reason = self.refuse_nominal(self.shrinking.history[0][1])  # before any step
            if reason or len(self.shrinking.history) > 1:
                reason = reason or f"the nominal sizes need more than {HARD_BYTES >> 20} MiB"
                raise BadFile(f"{reason}: a candidate for these sizes only cannot be checked here",
                              "exhausted")
            # Small ones are executed whole anyway.
            self.sampled = (cost.bytes > QUICK_BYTES or (cost.flops or 0) > QUICK_FLOPS)
        limit = max(budget[0], HARD_BYTES)
        if cost is not None and cost.bytes > limit:
            raise BadFile(f"the inputs, parameters and results need {cost.bytes >> 20} MiB, limit "
                          f"{limit >> 20}, and no size of the file can be made smaller; "
                          "assign sizes at module level", "exhausted")
        self.set_nominal(self.shrinking.values)

    def set_nominal(self, values):
        self.nominal = dict(values)
        self.sizes.settle(self.nominal)
        parts = [("constructor default " if s.kind == "default" else "")
                 + f"{s.name} {s.nominal} to {self.nominal[s.name]}" for s in self.sizes.slots
                 if self.nominal[s.name] != s.nominal]
        self.notes = [n for n in self.notes if not n.startswith("nominal sizes scaled")]
        if parts:
            self.note("nominal sizes scaled: " + ", ".join(parts))

    def first_trial(self, quick):
        """The nominal shape as written; it must work. Sizes shrink further when running it shows
        that it costs too much, and grow again where so small ones cannot judge anybody."""
        flops_max = QUICK_FLOPS if quick else FULL_FLOPS
        made = self.first_that_works()
        for _ in range(12):
            run = made[0].run
            cost = self.shrinking.cost
            known = cost is not None and cost.flops is not None
            if known or self.request["nominal_only"] or run.flops <= flops_max:
                break
            largest = max((s for s in self.sizes.slots if s.of_input and s.kind != "factor"),
                          key=lambda s: self.nominal[s.name], default=None)
            if largest is None or self.nominal[largest.name] <= 8:
                break
            smaller = dict(self.nominal)
            smaller[largest.name] = scaling.halve(smaller[largest.name])
            try:
                variant = Variant(self, "nominal", smaller)
                made = self.attempt_first(variant)
            except BadFile:
                break
            self.variants["nominal"] = variant
            self.set_nominal(smaller)
        variant = self.variants["nominal"]
        self.nominal_run = made[0].run
        self.nominal_truth = made[0]
        variant.first = made
        self.layout = self.check_layout(variant, *made[1:3])
        self.store(variant, self.base_class, made)

    def attempt_first(self, variant):
        seed = compat_seeds()[0] if self.compat else None
        return self.attempt(variant, self.base_class, must=True, seed=seed)

    def first_that_works(self):
        worst = None
        tries = 0
        for values in itertools.chain([self.nominal], self.shrinking.earlier()):
            values = {s.name: values.get(s.name, s.nominal) for s in self.sizes.slots}
            cost = self.sizes.measure(values)
            if tries > 0 and (cost is None or cost.bytes > HARD_BYTES
                              or (cost.flops or 0) > BACK_FLOPS):
                continue
            tries += 1
            self.expect(cost)
            self.set_nominal(values)
            self.variants["nominal"] = Variant(self, "nominal", self.nominal)
            try:
                return self.attempt_first(self.variants["nominal"])
            except BadFile as error:
                worst = worst or error
            if tries == BACK_MAX:
                break
        if "cannot judge" not in str(worst):
            raise worst
        self.base_class = "rows"
        try:
            made = self.attempt_first(self.variants["nominal"])
        except BadFile:
            raise worst from None
        if made is None:
            raise worst
        self.note(f"inputs as written cannot judge a kernel ({worst}); rows that differ from each "
                  "other stand in for them")
        return made

    def expect(self, cost):
        """How many noise runs are worth their time. Not by the clock: trials must not depend on
        how busy the machine is."""
        ops_count = min(cost.ops, 1 << 16) if cost is not None else 0
        flops = cost.flops if cost is not None and cost.flops else 0
        self.pass_seconds = ops_count * SECONDS_PER_OP + min(flops, 1e12) * SECONDS_PER_FLOP
        self.noise_runs = 8 if self.pass_seconds < 0.1 else 4 if self.pass_seconds < 0.4 else 2

    def affordable(self, plan):
        """What a costly reference leaves out of its plan."""
        each = self.pass_seconds * (2 + self.noise_runs)
        count = max(0, int(PLAN_SECONDS / each) - 1) if each > 0 else len(plan)
        if count >= len(plan):
            return plan
        first = [t for t in plan if t[1] == [WRITTEN] and t[0] in ("odd", "one")]
        rest = [t for t in plan if t not in first]
        kept = (first[:1] + rest[:1] + first[1:] + rest[1:])[:count]
        self.note(f"the reference is costly: {len(kept) + 1} of {len(plan) + 1} trials are made")
        return kept

    def variant(self, label):
        """None when no sizes of this label work."""
        if label in self.variants:
            return self.variants[label]
        self.variants[label] = None
        if label in VIEWS:
            base = self.variant("odd") or self.variants["nominal"]
            self.variants[label] = base
            return base
        reason = "no size of the file shows in its inputs"
        for sizes in self.shape_variants.candidates(label):
            try:
                variant = Variant(self, label, sizes)
                variant.first = self.attempt(variant, self.base_class)
            except (BadFile, truth.Rejected) as error:
                reason = str(error)
                continue
            self.variants[label] = variant
            return variant
        self.note(f"shape {label} dropped: {reason}")
        return None

    def add(self, label, classes):
        variant = self.variant(label)
        if variant is None:
            return
        reason = None
        for name in [self.base_class if c == WRITTEN else c for c in classes]:
            if name == variant.written and len(classes) == 1 and label not in VIEWS:
                return  # there already
            try:
                if name == self.base_class and label not in VIEWS:
                    made = variant.first
                else:
                    made = self.attempt(variant, name, view=label if label in VIEWS else None)
            except (truth.Rejected, BadFile) as error:
                reason = reason or f"values {name} at shape {label} dropped: {error}"
                continue
            if made is not None:
                self.store(variant, name, made, label)
                break
        if reason:
            self.note(reason)

    def attempt(self, variant, class_name, must=False, view=None, seed=None):
        """(truth, inputs, state, seed), or None when the class does not apply."""
        if class_name in values.WITH_TIES and self.ties_matter():
            raise truth.Rejected("the order of equal values is not specified")
        if class_name == "special" and not self.nominal_run.names <= ops.SPECIAL:
            raise truth.Rejected("an operation does not define results for infinities and NaN")
        zero_one = class_name == "zero_one"
        integral = zero_one and self.nominal_run.names <= ops.INTEGRAL
        rejected = None
        seeds = [seed] if seed is not None else [
            derive(self.seed, variant.label, class_name, i) for i in range(SEEDS_PER_TRIAL)]
        for seed in seeds:
            inputs, changed = variant.inputs(class_name, seed)
            if not changed and class_name != WRITTEN:
                return None
            if view:
                inputs = [as_view(v, view) for v in inputs]
            state = variant.state(integral)
            self.check_layout(variant, inputs, state)
            options = {
                "special": class_name == "special", "small": class_name == "denormal",
                "zero_one": zero_one, "half": self.half,
                "plain": self.compat, "watch": not self.audit,
                "integral": integral, "noise_runs": self.noise_runs,
                "coherent": view == "expanded" or class_name == "constant",
                "scalars": len(variant.scalars),
                "buffers_at": len(inputs) + len(state.parameters),
            }
            try:
                return truth.compute(self.source, state, inputs, seed, options), inputs, state, seed
            except truth.Rejected as error:
                rejected = error
        if must:
            raise BadFile(f"running forward() on the inputs of get_inputs(): {rejected}, with "
                          f"{SEEDS_PER_TRIAL} seeds; such a reference cannot judge a kernel")
        raise rejected

    def check_layout(self, variant, inputs, state):
        """All trials of a task have the same arguments: a size that is a number of layers must
        stay what it is."""
        layout = (len(inputs), [[name for name, _ in some] for some in (
            state.parameters, state.buffers, variant.scalars)])
        if self.layout not in (None, layout):
            raise BadFile("it changes which parameters there are")
        return layout

    def ties_matter(self):
        return bool(self.nominal_run.names & ops.UNSTABLE) and any(
            o["dtype"] not in loader.FLOATS for o in self.nominal_truth.outputs)

    def store(self, variant, class_name, made, label=None):
        result, inputs, state, seed = made
        self.inputs_mutated = self.inputs_mutated or result.inputs_mutated
        arguments = inputs + [t for _, t in state.parameters + state.buffers]
        arguments += [v for _, v in variant.scalars]
        if self.audit:  # no kernel gets them; an input may be tried as an answer
            answers = {o["y64"].shape for o in result.outputs}
            arguments = [v if isinstance(v, torch.Tensor) and v.shape in answers else None
                         for v in arguments]
        arguments = [self.pack(v) for v in arguments]
        outputs = []
        others = ([], [])
        if self.alternatives and not result.inputs_mutated:
            others = variant.other_results(class_name, inputs, seed, result.integral)
        for i, o in enumerate(result.outputs):
            outputs.append({
                "name": o["name"], "dtype": loader.DTYPES[o["dtype"]],
                "shape": list(o["y64"].shape), "argument": o["argument"], "k": o["k"],
                "exact": result.exact, "rows": o["e32"].numel(),
                "at": self.truth_arena.add(o["y64"]),
                "e32_at": self.truth_arena.add(o["e32"].double()),
                "s_at": self.truth_arena.add(o["terms_rms"].double()),
                "other_inputs_at": self.add_other(o, others[0], i),
                "other_parameters_at": self.add_other(o, others[1], i),
            })
        self.trials.append({
            "shape_label": label or variant.label, "shape_text": self.shape_text(variant, inputs),
            "value_class": variant.written if class_name == WRITTEN else class_name,
            "seed": str(seed), "model_seed": str(variant.model_seed),
            "init_json": variant.init_json, "arguments": arguments, "outputs": outputs,
            "sampled": self.sampled,
        })

    def add_other(self, output, results, index):
        """Its place, or -1."""
        if not results or output["argument"] >= 0 or output["y64"].numel() == 0:
            return -1
        other = results[index]
        if other.shape != output["y64"].shape:
            return -1
        floats = output["dtype"] in loader.FLOATS
        return self.truth_arena.add(other.double() if floats else other.to(torch.int64))

    def shape_text(self, variant, inputs):
        parts = []
        for name, value in zip(variant.names, inputs):
            shown = list(value.shape) if isinstance(value, torch.Tensor) else value
            parts.append(f"{name} {shown}")
        sizes = [f"{s.name}={variant.sizes[s.name]}" for s in self.sizes.slots
                 if not s.name.isdigit()]
        return (", ".join(parts) + (f" ({', '.join(sizes)})" if sizes else ""))[:400]

    def pack(self, value):
        if isinstance(value, torch.Tensor):
            at, size, strides, offset = self.inputs_arena.add_view(value)
            return {"t": loader.DTYPES[value.dtype], "shape": list(value.shape),
                    "strides": strides, "offset": offset, "at": at, "bytes": size}
        if value is None:
            return {"n": None}
        if isinstance(value, bool):
            return {"b": value}
        if isinstance(value, int):
            if not -(1 << 63) <= value < 1 << 63:
                raise BadFile(f"the argument {value} does not fit into 64 bits")
            return {"i": value}
        if isinstance(value, float):
            return {"r": repr(value)}
        return {"l": [int(v) for v in value]}

    def document(self):
        variant = self.variants["nominal"]
        _, inputs, state, _ = variant.first
        arguments = [self.declare(n, "input", v) for n, v in zip(variant.names, inputs)]
        arguments += [self.declare(n, "parameter", t) for n, t in state.parameters]
        arguments += [self.declare(n, "buffer", t) for n, t in state.buffers]
        arguments += [self.declare(n, "scalar", v) for n, v in variant.scalars]
        run = self.nominal_run
        outputs = [{"name": o["name"], "dtype": loader.DTYPES[o["dtype"]],
                    "shape": list(o["y64"].shape)} for o in self.nominal_truth.outputs]
        for name in variant.not_passed:
            self.note(f"constructor argument {name} is neither a number nor a list of integers and "
                      "is not passed")
        if run.draws:
            self.note("forward() draws random numbers: the same ones after "
                      "torch.manual_seed(seed of the trial)")
        for name, _, _ in state.extras:
            self.note(f"tensor attribute {name} is passed like a buffer")
        task = {
            "version": 1, "name": self.request["name"], "source_hash": self.request["source_hash"],
            "reduction_max": run.reduction_max, "arguments": arguments,
            "trace": [{"op": o[0], "inputs": o[1], "results": o[2], "shapes": o[3], "k": o[4]}
                      for o in run.operations],
            "outputs": outputs,
        }
        return {"version": 1, "task": task, "trials": self.trials, "notes": self.notes,
                "inputs_mutated": self.inputs_mutated, "dropout_off": self.dropout_off,
                "forward_draws": run.draws,
                "sizes": {s.name: self.nominal[s.name] for s in self.sizes.slots
                          if self.nominal[s.name] != s.nominal}}

    @staticmethod
    def declare(name, origin, value):
        if isinstance(value, torch.Tensor):
            return {"name": name, "origin": origin, "dtype": loader.DTYPES[value.dtype],
                    "shape": list(value.shape), "value": None}
        dtype = "bool" if isinstance(value, bool) else "f64" if isinstance(value, float) else "i64"
        if isinstance(value, float) and value - value != 0:
            value = repr(value)  # JSON has no infinities
        return {"name": name, "origin": origin, "dtype": dtype, "shape": [], "value": value}
