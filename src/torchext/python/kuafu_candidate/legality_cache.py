# SPDX-License-Identifier: Apache-2.0
"""Results that are kept and given again: stores into what outlives a call, and returns of it.

A workspace that is allocated once and written by a kernel on each call is honest, and so is a
transposed weight: only a result that came out of a call, or that a key chooses, counts.
"""
import ast

from .legality_tree import walk

PASS_ON = {"clone", "detach", "view", "reshape", "contiguous", "get", "pop", "to", "expand_as",
           "setdefault"}
CREATES = {"empty", "empty_like", "zeros", "zeros_like", "new_empty", "new_zeros", "full", "ones",
           "ones_like", "dict", "list", "arange", "tensor"}


def check(tree, model, reached, report):
    for function in reached:
        _Caches(tree, model, function, report).run()


class _Caches:
    def __init__(self, tree, model, function, report):
        self.tree, self.model, self.function, self.report = tree, model, function, report

    def run(self):
        stores = self._stores()
        for node in walk(self.function):
            if isinstance(node, ast.Return) and node.value is not None:
                for place in self._places(node.value):
                    kept = [s for name, s in stores if name == place]
                    if kept and (self._conditional(node) or any(map(self._conditional, kept))):
                        self.report.add("output_cache", node, place)
            if isinstance(node, (ast.Subscript, ast.Compare, ast.Call)):
                self._keyed(node)
        self._memoized()

    def _place(self, node):
        """A name for what outlives the call: "self.last", "CACHE"; None for anything else."""
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if self.model.self_class(node.value, node) or node.value.id in self.model.classes:
                return f"{node.value.id}.{node.attr}"
            if node.value.id in self.model.functions:
                return f"{node.value.id}.{node.attr}"
        if isinstance(node, ast.Name) and not self.tree.is_local(node):
            if node.id in self.model.globals and node.id not in self.model.functions:
                return node.id
        return None

    def _stores(self):
        """(place, node) for each store of something that was computed."""
        found = []
        for node in walk(self.function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    place = self._place(target)
                    if place and not self._fresh(node.value):
                        found.append((place, node))
            elif (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                  and node.func.attr in ("append", "update", "setdefault", "__setitem__")):
                place = self._place(node.func.value)
                if place:
                    found.append((place, node))
        return found

    def _fresh(self, value, depth=0):
        """Memory, a constant or an extension: nothing that was computed."""
        if isinstance(value, (ast.Constant, ast.Dict, ast.List)) or depth > 6:
            return True
        if ("ext",) in self.model.kinds(value):
            return True
        if isinstance(value, ast.Name):
            values = self._local_values(value)
            return bool(values) and all(self._fresh(v, depth + 1) for v in values)
        if isinstance(value, ast.Call):
            names = {d.rsplit(".", 1)[-1] for d in self.tree.dotted(value.func)}
            if isinstance(value.func, ast.Attribute):
                names.add(value.func.attr)
            return bool(names & CREATES)
        return False

    def _local_values(self, name):
        function = self.model.enclosing(name)
        return self.model.locals.get(function, {}).get(name.id, [])

    def _places(self, value, depth=0):
        """The places that a returned expression hands out as they are."""
        if value is None or depth > 6:
            return
        if isinstance(value, (ast.Subscript, ast.Attribute)):
            place = self._place(value)
            if place:
                yield place
        elif isinstance(value, ast.Name):
            place = self._place(value)
            if place:
                yield place
            for v in self._local_values(value)[:8]:
                yield from self._places(v, depth + 1)
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr in PASS_ON:
                yield from self._places(value.func.value, depth + 1)
            elif value.func.attr == "copy_" and value.args:
                yield from self._places(value.args[0], depth + 1)
        elif isinstance(value, ast.IfExp):
            yield from self._places(value.body, depth + 1)
            yield from self._places(value.orelse, depth + 1)
        elif isinstance(value, (ast.Tuple, ast.List)):
            for element in value.elts[:16]:
                yield from self._places(element, depth + 1)

    def _conditional(self, node):
        for ancestor in self.tree.ancestors(node):
            if ancestor is self.function:
                return False
            if isinstance(ancestor, (ast.If, ast.IfExp, ast.Try, ast.While)):
                return True
        return False

    # Keys.

    def _is_identity(self, node):
        """The address or the identity of an object, alone or in a tuple or a name."""
        for n in walk(node):
            if isinstance(n, ast.Call):
                if isinstance(n.func, ast.Attribute) and n.func.attr in ("data_ptr", "storage_id"):
                    return not isinstance(self.tree.parent(n), ast.BinOp)
                if (isinstance(n.func, ast.Name) and n.func.id == "id"
                        and not self.tree.is_local(n.func)):
                    return True
            if isinstance(n, ast.Attribute) and n.attr == "_version":
                return True
        if isinstance(node, ast.Name):
            return any(isinstance(v, (ast.Call, ast.Tuple)) and self._is_identity(v)
                       for v in self._local_values(node)[:8])
        return False

    def _keyed(self, node):
        if isinstance(node, ast.Subscript):
            place, keys = self._place(node.value), [node.slice]
        elif isinstance(node, ast.Compare):
            sides = [node.left] + node.comparators
            place = next((p for p in map(self._place, sides) if p), None)
            keys = [s for s in sides if not self._place(s)]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "setdefault"):
            place, keys = self._place(node.func.value), node.args[:1]
        else:
            return
        if place and any(map(self._is_identity, keys)):
            self.report.add("output_cache", node, f"{place} is chosen by the address of data")

    def _memoized(self):
        for decorator in getattr(self.function, "decorator_list", []):
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            names = self.tree.dotted(target)
            if names & {"functools.lru_cache", "functools.cache"}:
                returns = [n.value for n in walk(self.function) if isinstance(n, ast.Return)]
                extension = any(("ext",) in self.model.kinds(r) for r in returns)
                tensor = any(("tensor",) in self.model.kinds(r) for r in returns)
                if self.function.name == "forward" or (tensor and not extension):
                    self.report.add("output_cache", decorator, self.function.name)
