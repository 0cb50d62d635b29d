# SPDX-License-Identifier: Apache-2.0
"""Rules that hold anywhere in a candidate's file: imports, names, attributes, patches, files."""
import ast

from .legality_tree import assigned, walk

SIMPLE_READS = ("read_text", "write_text")


def check(tree, policy, report):
    _FileRules(tree, policy, report).run()


def string_end(tree, node, depth=0):
    """The end of a string expression as far as it is known: the last part of a path."""
    if depth > 6 or node is None:
        return None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr) and node.values:
        return string_end(tree, node.values[-1], depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        return string_end(tree, node.right, depth + 1)
    if isinstance(node, ast.Call) and node.args:
        return string_end(tree, node.args[-1], depth + 1)
    if isinstance(node, ast.Name):
        values = [value for n in tree.nodes for target, value in assigned(n)
                  if isinstance(target, ast.Name) and target.id == node.id]
        ends = [string_end(tree, value, depth + 1) for value in values[:8]]
        return ends[0] if ends and all(ends) and len(set(map(_suffix, ends))) == 1 else None
    return None


def string_start(tree, node):
    """The literal that a path begins with, "" where it is not known."""
    for _ in range(16):
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else ""
        if isinstance(node, ast.JoinedStr) and node.values:
            node = node.values[0]
        elif isinstance(node, ast.BinOp):
            node = node.left
        elif isinstance(node, ast.Call) and node.args:
            node = node.args[0]
        elif isinstance(node, ast.Name):
            values = [value for n in tree.nodes for target, value in assigned(n)
                      if isinstance(target, ast.Name) and target.id == node.id]
            starts = [v for v in values if isinstance(v, (ast.Constant, ast.Call, ast.BinOp))]
            node = starts[0] if starts else None
        else:
            break
    return ""


def _suffix(name):
    return "." + name.rsplit(".", 1)[1].lower() if "." in name else ""


class _FileRules:
    def __init__(self, tree, policy, report):
        self.tree = tree
        self.rules = policy["python"]
        self.report = report

    def run(self):
        handlers = {
            ast.Import: self._import, ast.ImportFrom: self._import_from,
            ast.Attribute: self._attribute, ast.Name: self._name, ast.Call: self._call,
            ast.ClassDef: self._class,
        }
        for node in self.tree.nodes:
            handler = handlers.get(type(node))
            if handler is not None:
                handler(node)
            # A target, wherever it stands: an assignment, a loop, a with, a del.
            if (isinstance(node, (ast.Attribute, ast.Subscript))
                    and isinstance(node.ctx, (ast.Store, ast.Del))):
                self._patch(node)

    # Dotted names.

    def _dotted(self, dotted, node):
        """Whether the policy allows this name of an imported module."""
        for denied, code in self.rules["torch_denied"].items():
            if dotted == denied or dotted.startswith(denied + "."):
                self.report.add(code, node, dotted)
                return
        parts = dotted.split(".")
        for count in range(len(parts), 0, -1):
            allowed = self.rules["modules"].get(".".join(parts[:count]))
            if allowed is None:
                continue
            rest = parts[count:]
            if not rest or rest[0] in allowed or "*" in allowed:
                self._parts(dotted, parts[0], rest, node)
                return
            break
        code = (self.rules["attribute_codes"].get(".".join(parts[:2]))
                or self.rules["module_codes"].get(parts[0]) or "forbidden_import")
        self.report.add(code, node, dotted)

    def _parts(self, dotted, root, rest, node):
        """A module that is allowed must not be a way to one that is not: torch.os."""
        for part in rest:
            if part in self.rules["attributes_denied"]:
                self.report.add(self.rules["attributes_denied"][part], node, dotted)
            elif part.startswith("_") and part not in self.rules["dunder_allowed"]:
                code = self.rules["attribute_codes"].get(dotted)
                internals = "torch_internals" if root.startswith("torch") else "introspection"
                self.report.add(code or internals, node, dotted)

    def _import(self, node):
        for alias in node.names:
            self._dotted(alias.name, node)

    def _import_from(self, node):
        if node.level or not node.module:
            self.report.add("forbidden_import", node, "a relative import")
            return
        for alias in node.names:
            if alias.name != "*":
                self._dotted(f"{node.module}.{alias.name}", node)
            elif node.module.split(".")[0] != "math":
                self.report.add("forbidden_import", node, f"from {node.module} import *")

    # Attributes, and names given as text to getattr.

    def _attribute(self, node):
        parent = self.tree.parent(node)
        dotted = self.tree.dotted(node)
        longest = not (isinstance(parent, ast.Attribute) and parent.value is node)
        for name in sorted(dotted):
            if name.startswith("os.environ"):
                if name == "os.environ" or longest:
                    self._environment(node, name)
            elif longest:
                self._dotted(name, node)
        if not dotted:
            self._attribute_name(node.attr, node, parent)
        if node.attr in SIMPLE_READS:
            self._file(node, node.value, node.attr == "write_text")

    def _attribute_name(self, name, node, parent=None):
        code = self.rules["attributes_denied"].get(name)
        if code:
            self.report.add(code, node, "." + name)
        elif name.startswith("__") and name.endswith("__"):
            of_class = (isinstance(parent, ast.Attribute)
                        and parent.attr not in ("__name__", "__doc__"))
            if name not in self.rules["dunder_allowed"] or (name == "__class__" and of_class):
                self.report.add("introspection", node, "." + name)

    def _environment(self, node, dotted):
        """os.environ["CXX"] and os.environ.setdefault("CXX", ...) for the names of the policy."""
        parent = self.tree.parent(node)
        key = None
        if isinstance(parent, ast.Attribute) and dotted == "os.environ":
            if parent.attr in ("get", "setdefault", "pop"):
                return  # judged as the longer name
        if isinstance(parent, ast.Subscript) and parent.value is node:
            key = parent.slice
        elif (isinstance(parent, ast.Call) and parent.func is node and parent.args
              and dotted.split(".")[-1] in ("get", "setdefault", "pop")):
            key = parent.args[0]
        if not (isinstance(key, ast.Constant) and key.value in self.rules["environment_names"]):
            self.report.add("harness_access", node, dotted)

    def _name(self, node):
        if not isinstance(node.ctx, ast.Load):
            return
        code = self.rules["builtins"].get(node.id)
        if code and not self.tree.is_local(node):
            self.report.add(code, node, node.id)
        elif node.id == "__file__" and not self._in_path_call(node):
            self.report.add("harness_access", node, "__file__")

    def _in_path_call(self, node):
        """Naming the folder of the sources is what __file__ is for."""
        for ancestor in self.tree.ancestors(node):
            if isinstance(ancestor, ast.Call):
                names = self.tree.dotted(ancestor.func)
                if any(n.startswith("os.path.") or n == "pathlib.Path" for n in names):
                    return True
            elif isinstance(ancestor, ast.stmt):
                return False
        return False

    def _call(self, node):
        if not isinstance(node.func, ast.Name) or self.tree.is_local(node.func):
            return
        name = node.func.id
        if name == "open":
            mode = node.args[1] if len(node.args) > 1 else next(
                (k.value for k in node.keywords if k.arg == "mode"), None)
            writes = (isinstance(mode, ast.Constant) and isinstance(mode.value, str)
                      and mode.value[:1] in ("w", "x") and "+" not in mode.value)
            self._file(node, node.args[0] if node.args else None, writes)
        elif name in ("getattr", "setattr", "hasattr") and len(node.args) >= 2:
            self._attribute_call(name, node)
        elif name == "type" and len(node.args) == 3:
            self.report.add("introspection", node, "a class made by type()")

    def _attribute_call(self, name, node):
        base, attribute = node.args[0], node.args[1]
        module = self.tree.dotted(base)
        if name == "setattr" and module:
            self.report.add("monkey_patch", node, sorted(module)[0])
        if isinstance(attribute, ast.Constant) and isinstance(attribute.value, str):
            for dotted in sorted(module):
                self._dotted(f"{dotted}.{attribute.value}", node)
            if not module:
                self._attribute_name(attribute.value, node)
        elif name != "hasattr" and (module or not self._is_harmless_name(attribute, base)):
            self.report.add("dynamic_execution", node, f"{name} with a name that is made up")

    def _is_harmless_name(self, attribute, base):
        """getattr(self, f"weight_{i}"), and a variable where the object is self."""
        while isinstance(base, ast.Attribute):
            base = base.value
        of_self = isinstance(base, ast.Name) and base.id == "self"
        if isinstance(attribute, ast.JoinedStr) and attribute.values:
            first = attribute.values[0]
            return (isinstance(first, ast.Constant) and first.value
                    and not first.value.startswith("_"))
        return of_self and isinstance(attribute, ast.Name) and self._loops_over_names(attribute)

    def _loops_over_names(self, name):
        for node in self.tree.nodes:
            loops = ([node] if isinstance(node, ast.For) else getattr(node, "generators", []))
            for loop in loops:
                targets = {n.id for n in walk(loop.target) if isinstance(n, ast.Name)}
                if name.id not in targets:
                    continue
                texts = [n.value for n in walk(loop.iter)
                         if isinstance(n, ast.Constant) and isinstance(n.value, str)]
                if not texts or any(text.startswith("_") for text in texts):
                    return False
                if not isinstance(loop.iter, (ast.List, ast.Tuple)):
                    return False
                return True
        return False

    # Files, patches, classes.

    def _file(self, node, path, writes):
        """Sources are written to a folder of the candidate's own, under names that may come from
        a list; what is read must be known for a source."""
        start, end = string_start(self.tree, path), string_end(self.tree, path)
        if start.startswith("/") and not start.startswith("/tmp"):
            self.report.add("file_access", node, start)
        elif end is None and not writes:
            self.report.add("file_access", node, "a name that is not known")
        elif end is not None and _suffix(end) not in self.rules["source_suffixes"]:
            self.report.add("file_access", node, end)

    def _patch(self, target):
        base = target.value
        for dotted in sorted(self.tree.dotted(base)):
            if dotted == "os.environ":
                continue  # judged where it is named
            flags = dotted.startswith("torch.backends")
            self.report.add("global_flags" if flags else "monkey_patch", target, dotted)
        if (isinstance(base, ast.Call) and isinstance(base.func, ast.Name)
                and base.func.id == "type" and base.args
                and not (isinstance(base.args[0], ast.Name) and base.args[0].id == "self")):
            self.report.add("monkey_patch", target, "the class of an object")

    def _class(self, node):
        for base in node.bases:
            names = self.tree.dotted(base)
            if names & {"torch.Tensor", "torch.nn.Parameter", "torch.FloatTensor"}:
                self.report.add("lazy_tensor", node, node.name)
            if isinstance(base, ast.Name) and base.id == "type":
                self.report.add("introspection", node, "a metaclass")
        if any(keyword.arg == "metaclass" and "abc.ABCMeta" not in self.tree.dotted(keyword.value)
               for keyword in node.keywords):
            self.report.add("introspection", node, "a metaclass")
        for item in node.body:
            if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
                code = self.rules["methods_denied"].get(item.name)
                if code:
                    self.report.add(code, item, item.name)
