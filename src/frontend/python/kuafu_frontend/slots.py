# SPDX-License-Identifier: Apache-2.0
"""The numbers of a file that may be sizes, as syntax nodes whose value can be replaced.

  module      assigned at module level: dim = 1024, also in tuples, lists, [1024] * 16 and products
  literals    of get_inputs() and get_init_inputs(): torch.rand(batch, 3, 224, 224)
  defaults    of the constructor: def __init__(self, width=96). Replaced by passing the argument, so
              that another module with the same signature can be built alike
  factors     numbers between 0 and 1 at module level, such as a width multiplier

Equal numbers of one tuple or of the two functions are one slot: an image stays square."""

import ast

SLOTS_MAX = 32
SIZE_MIN_TO_VARY = 2
EQUAL_MIN = 16  # from here on equal numbers of a tuple are taken for one size
FUNCTIONS = ("get_inputs", "get_init_inputs")


class Slot:
    """One number; several syntax nodes when equal ones were taken together."""

    def __init__(self, name, value, nodes, kind="module"):
        self.name = name
        self.nominal = value
        self.nodes = nodes
        self.kind = kind
        self.position = None  # smallest distance from the end over all inputs; 1 = last
        self.outermost = False  # the first dimension of some input, of two or more
        self.inner = False  # some later dimension
        self.spatial = False  # one of the last two dimensions of an input of four or more
        self.of_input = False
        self.of_parameter = False

    def set(self, value):
        for node in self.nodes:
            node.value = value


def constant_value(node):
    """The value of an integer expression without names, or None."""
    if isinstance(node, ast.Constant):
        value = node.value
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    if isinstance(node, ast.BinOp):
        left, right = constant_value(node.left), constant_value(node.right)
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


def _of_elements(name, sequence):
    """Slots of a tuple or list; equal large numbers together."""
    slots, known = [], {}
    for i, item in enumerate(sequence.elts):
        constant = constant_value(item)
        if constant is None:
            continue
        node = _replace(sequence, "elts", i, constant)
        if constant in known:
            known[constant].nodes.append(node)
            continue
        slot = Slot(f"{name}[{i}]", constant, [node])
        slots.append(slot)
        if constant >= EQUAL_MIN:
            known[constant] = slot
    return slots


def _of_assignment(name, statement):
    value = statement.value
    constant = constant_value(value)
    if constant is not None:
        return [Slot(name, constant, [_replace(statement, "value", None, constant)])]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):  # [1024] * 16
        value = value.left if isinstance(value.left, (ast.List, ast.Tuple)) else value.right
    if isinstance(value, (ast.Tuple, ast.List)):
        return _of_elements(name, value)
    return []


def module_slots(tree):
    slots = []
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target = statement.target
        elif isinstance(statement, ast.Assign):
            target = statement.targets[0]
            if any(not isinstance(t, ast.Name) for t in statement.targets[1:]):
                continue  # height = width = 128 is one size
        else:
            continue
        value = statement.value
        if isinstance(target, ast.Name):
            slots += _of_assignment(target.id, statement)
        elif isinstance(target, ast.Tuple) and isinstance(value, (ast.Tuple, ast.List)) and len(
                target.elts) == len(value.elts):
            for i, (name, item) in enumerate(zip(target.elts, value.elts)):
                constant = constant_value(item)
                if isinstance(name, ast.Name) and constant is not None:
                    slots.append(Slot(name.id, constant, [_replace(value, "elts", i, constant)]))
    return [s for s in slots if s.nominal >= 1][:SLOTS_MAX]


def literal_slots(tree):
    """Literals within calls in get_inputs() and get_init_inputs(), by value."""
    groups = {}
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or function.name not in FUNCTIONS:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(
                    node.value, bool) and node.value >= SIZE_MIN_TO_VARY:
                groups.setdefault(node.value, []).append(node)
    return [Slot(str(value), value, nodes, "literal") for value, nodes in sorted(
        groups.items(), reverse=True)][:SLOTS_MAX]


class Default(Slot):
    """A default of the constructor: set by passing the argument."""

    def __init__(self, name, value, passed):
        super().__init__(name, value, [], "default")
        self.passed = passed  # keyword arguments beside those of get_init_inputs()
        self.used = False

    def set(self, value):
        if value != self.nominal or self.used:
            self.passed[self.name] = value
        else:
            self.passed.pop(self.name, None)


def default_slots(tree, passed, given):
    """`given`: how many arguments get_init_inputs() passes by position."""
    for statement in tree.body:
        if not (isinstance(statement, ast.ClassDef) and statement.name == "Model"):
            continue
        for function in statement.body:
            if not (isinstance(function, ast.FunctionDef) and function.name == "__init__"):
                continue
            arguments = function.args
            names = [a.arg for a in arguments.posonlyargs + arguments.args][1:]
            values = [None] * (len(names) - len(arguments.defaults)) + arguments.defaults
            pairs = list(zip(names, values))[given:]
            pairs += zip([a.arg for a in arguments.kwonlyargs], arguments.kw_defaults)
            slots = [Default(name, constant_value(value), passed) for name, value in pairs
                     if value is not None and constant_value(value) is not None]
            return [s for s in slots if s.nominal >= SIZE_MIN_TO_VARY][:SLOTS_MAX]
    return []


def factor_slots(tree):
    slots = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(
                statement.targets[0], ast.Name) and isinstance(statement.value, ast.Constant):
            value = statement.value.value
            if isinstance(value, float) and 0 < value <= 4:
                slots.append(Slot(statement.targets[0].id, value, [statement.value], "factor"))
    return slots[:SLOTS_MAX]
