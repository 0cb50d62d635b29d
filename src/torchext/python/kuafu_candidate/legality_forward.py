# SPDX-License-Identifier: Apache-2.0
"""Rules about ModelNew: where its results come from."""
import ast

from . import legality_cache
from .legality_model import Model
from .legality_tree import walk

REFERENCE = "Model"
SEEDS = {"torch.manual_seed", "torch.seed", "torch.cuda.manual_seed", "torch.cuda.manual_seed_all",
         "torch.random.manual_seed", "torch.musa.manual_seed"}
SIZE_OF_NOTE = 8  # smaller numbers in a comparison with a shape are ranks and vector widths


def check(tree, policy, report):
    model = Model(tree, policy)
    if model.model is None:
        aliases = [v for v in model.globals.get("ModelNew", []) if v is not None]
        if aliases:
            report.add("inherits_reference", aliases[0], "ModelNew is another name of it")
        else:
            report.add("no_model_new", None)
        return
    _ForwardRules(tree, policy, report, model).run()


class _ForwardRules:
    def __init__(self, tree, policy, report, model):
        self.tree, self.report, self.model = tree, report, model
        self.rules = policy["python"]
        self.reached = model.reachable()

    def run(self):
        if self._reference():
            return  # whatever else it does, it is not a candidate of its own
        self._extension()
        self._tries()
        self._seeds()
        for function in self.reached:
            for node in walk(function):
                if isinstance(node, ast.Call):
                    self._call(node)
                elif isinstance(node, (ast.BinOp, ast.AugAssign)):
                    if isinstance(node.op, ast.MatMult):
                        self.report.add("python_library_call", node, "@")
                elif isinstance(node, ast.Compare):
                    self._compare(node)
                if isinstance(node, ast.Attribute):
                    self._narrow(node)
        legality_cache.check(self.tree, self.model, self.reached, self.report)

    # The reference.

    def _reference(self):
        """True if ModelNew is the reference under another name."""
        cls = self.model.model
        inherits = False
        for name in self.model.base_classes(cls.name):
            for base in self.model.classes[name].bases:
                if isinstance(base, ast.Name) and base.id == REFERENCE:
                    inherits = True
                    self.report.add("inherits_reference", self.model.classes[name], base.id)
                for dotted in self.tree.dotted(base):
                    if dotted.rsplit(".", 1)[-1] == REFERENCE:
                        inherits = True
                        self.report.add("inherits_reference", self.model.classes[name], dotted)
                    elif self._is_compute_module(dotted):
                        self._module_base(dotted)
        if inherits:
            return True
        if cls.name == REFERENCE:
            self.report.add("inherits_reference", cls, "ModelNew is another name of it")
            return True
        if not self.model.method(cls.name, "forward") and not self.model.method(
                cls.name, "__call__"):
            self.report.add("inherits_reference" if len(cls.bases) else "no_model_new", cls,
                            "ModelNew has no forward of its own")
        for root in [cls] + self.reached:
            for node in walk(root):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and (
                        node.id == REFERENCE or self._derives(node.id)):
                    if self.tree.parent(node) is not cls and not self.tree.is_local(node):
                        self.report.add("uses_reference", node, node.id)
        return False

    def _derives(self, name):
        return (name in self.model.classes and name != self.model.model.name
                and any(isinstance(b, ast.Name) and b.id == REFERENCE
                        for c in self.model.base_classes(name)
                        for b in self.model.classes[c].bases))

    def _is_compute_module(self, dotted):
        parts = dotted.split(".")
        return (dotted.startswith("torch.nn.") and parts[2] != "functional"
                and parts[-1][:1].isupper() and parts[-1] not in self.rules["nn_not_compute"])

    def _module_base(self, dotted):
        """class ModelNew(nn.Linear): its parameters are welcome, its forward is not."""
        for function in self.reached:
            for node in walk(function):
                if (isinstance(node, ast.Attribute) and node.attr in ("forward", "__call__")
                        and isinstance(node.value, ast.Call)
                        and isinstance(node.value.func, ast.Name)
                        and node.value.func.id == "super"):
                    self.report.add("module_call", node, dotted)

    # The extension.

    def _extension(self):
        loads = [node for node in self.tree.nodes if self.model.is_loader(node)]
        if not loads:
            self.report.add("no_kernel", self.model.model)
            return
        used = [node for root in [self.model.model] + self.reached for node in walk(root)
                if isinstance(node, (ast.Name, ast.Attribute, ast.Call))
                and ("ext",) in self.model.kinds(node)]
        if not used:
            self.report.add("unused_extension", loads[0])
        elif len(loads) > 1:
            self._unused_modules(loads)

    def _unused_modules(self, loads):
        """Names of extensions at module level that nothing else in the file reads."""
        read = {n.id for n in self.tree.nodes
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        for name, values in self.model.globals.items():
            if name not in read and any(value in loads for value in values):
                self.report.add("unused_module", values[0], name)

    # Caught exceptions.

    def _tries(self):
        inside = {id(node) for function in self.reached for node in walk(function)}
        for node in self.tree.nodes:
            if isinstance(node, ast.Try) and node.handlers:
                if all(self._raises(handler.body) for handler in node.handlers):
                    continue
                if id(node) in inside or any(self._touches_extension(n) for n in node.body):
                    self.report.add("try_except_fallback", node)
            elif isinstance(node, (ast.With, ast.AsyncWith)):
                for item in node.items:
                    call = item.context_expr
                    if (isinstance(call, ast.Call)
                            and "contextlib.suppress" in self.tree.dotted(call.func)
                            and (id(node) in inside
                                 or any(self._touches_extension(n) for n in node.body))):
                        self.report.add("try_except_fallback", node, "suppress")

    @staticmethod
    def _raises(body):
        return bool(body) and isinstance(body[-1], ast.Raise)

    def _touches_extension(self, statement):
        """True if an extension is built or called in it, or in a function that it calls."""
        for node in walk(statement):
            if self.model.is_loader(node):
                return True
            if isinstance(node, ast.Call):
                kinds = self.model.kinds(node.func)
                if ("ext",) in kinds or ("ext",) in self.model.kinds(node):
                    return True
        return False

    def _seeds(self):
        """A seed set in ModelNew, in what it reaches, or where the file is loaded."""
        inside = {id(node) for root in [self.model.model] + self.reached for node in walk(root)}
        for node in self.tree.nodes:
            if not isinstance(node, ast.Call) or not self.tree.dotted(node.func) & SEEDS:
                continue
            loaded = self.tree.function_of(node) is None and not any(
                isinstance(a, ast.If) and isinstance(a.test, ast.Compare)
                and isinstance(a.test.left, ast.Name) and a.test.left.id == "__name__"
                for a in self.tree.ancestors(node))
            if id(node) in inside or loaded:
                self.report.add("reseed", node)

    # Calls.

    def _call(self, node):
        for dotted in sorted(self.tree.dotted(node.func)):
            self._dotted_call(dotted, node)
        kinds = self.model.kinds(node.func)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "forward":
            kinds = kinds | self.model.kinds(node.func.value)
        for kind in sorted(kinds):
            if kind[0] == "nn" and kind[1] not in self.rules["nn_not_compute"]:
                if not self.tree.dotted(node.func):
                    self.report.add("module_call", node, "nn." + kind[1])
        if (isinstance(node.func, ast.Attribute)
                and node.func.attr in self.rules["tensor_methods_denied"]
                and ("tensor",) in self.model.kinds(node.func.value)
                and ("ext",) not in self.model.kinds(node.func.value)):
            self.report.add("python_library_call", node, "." + node.func.attr)

    def _dotted_call(self, dotted, node):
        if (not dotted.startswith("torch.") or dotted in self.rules["loaders"]
                or dotted in SEEDS):
            return
        rest = dotted[len("torch."):]
        last = rest.rsplit(".", 1)[-1]
        known = any(rest == name or (name.endswith(".*") and rest.startswith(name[:-1]))
                    for name in self.rules["torch_calls"])
        if rest.startswith("nn.functional.") or (
                not known and last[:1].islower()
                and not any(dotted.startswith(d) for d in self.rules["torch_denied"])):
            self.report.add("python_library_call", node, dotted)
        elif rest.startswith("nn.") and last in ("forward", "__call__"):
            self.report.add("module_call", node, dotted)

    # Warnings.

    def _narrow(self, node):
        parent = self.tree.parent(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        names = {d.rsplit(".", 1)[-1] for d in self.tree.dotted(node)}
        if (called and node.attr in ("half", "bfloat16")
                and ("ext",) not in self.model.kinds(node.value)
                or names & set(self.rules["downcasts"])):
            self.report.add("precision_downgrade", node, node.attr)

    def _compare(self, node):
        if any(isinstance(a, (ast.Assert, ast.Raise)) for a in self.tree.ancestors(node)):
            return
        of_shape = any(isinstance(n, ast.Attribute) and n.attr in ("shape", "size", "numel")
                       for n in walk(node.left))
        numbers = [n.value for c in node.comparators for n in walk(c)
                   if isinstance(n, ast.Constant) and isinstance(n.value, int)]
        if of_shape and any(n >= SIZE_OF_NOTE for n in numbers) and all(
                isinstance(op, (ast.Eq, ast.NotEq)) for op in node.ops):
            self.report.add("hard_coded_shape", node)
