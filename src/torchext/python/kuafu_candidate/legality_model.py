# SPDX-License-Identifier: Apache-2.0
"""What a candidate's names may hold, and which of its functions ModelNew.forward reaches.

A value is a set of kinds, each a tuple:
  ("ext",)          a built extension or a function of it
  ("nn", "Linear")  a module of torch.nn
  ("class", name)   an object of a class of this file
  ("func", name)    a function of this file;  ("method", class, name) a method
  ("tensor",)       certainly a tensor
No kind at all means: not known. Flow is ignored, so a name has the kinds of all its assignments.
"""
import ast

from .legality_tree import COMPREHENSIONS, assigned, walk

DEPTH_MAX = 12
# Methods that give back what they are called on, as far as kinds go.
SAME = {"cuda", "cpu", "to", "musa", "float", "double", "half", "bfloat16", "contiguous", "eval",
        "train", "clone", "detach", "requires_grad_"}
TENSOR_METHODS = SAME | {"view", "reshape", "transpose", "permute", "t", "unsqueeze", "squeeze",
                         "flatten", "expand", "type_as", "int", "long", "bool", "new_empty",
                         "new_zeros", "chunk"}
FUNCTION_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Model:
    def __init__(self, tree, policy):
        self.tree = tree
        self.rules = policy["python"]
        self.classes, self.functions, self.methods, self.attributes = {}, {}, {}, {}
        self.class_of = {}      # method node -> class name
        self.globals = {}       # name -> values assigned at module level or through `global`
        self.locals = {}        # function -> name -> values
        self._memo = {}
        self._collect()
        self.model = self._find_model()

    def _collect(self):
        for node in self.tree.nodes:
            if isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
                self.methods[node.name] = {item.name: item for item in node.body
                                           if isinstance(item, FUNCTION_DEFS)}
                self.attributes.setdefault(node.name, {})
                for item in node.body:
                    if isinstance(item, FUNCTION_DEFS):
                        self.class_of[item] = node.name
                    for target, value in assigned(item):
                        if isinstance(target, ast.Name):
                            self.attributes[node.name].setdefault(target.id, []).append(value)
        for node in self.tree.nodes:
            if isinstance(node, FUNCTION_DEFS) and self.tree.function_of(node) is None:
                if node not in self.class_of:
                    self.functions[node.name] = node
        for node in self.tree.nodes:
            for target, value in self._values(node):
                self._note(node, target, value)

    def _values(self, node):
        yield from assigned(node)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            yield node.target, node.iter
            if isinstance(node.target, (ast.Tuple, ast.List)):
                for element in node.target.elts:
                    yield element, node.iter
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            named = (node.func.attr in ("add_module", "register_module", "register_buffer",
                                        "register_parameter") and len(node.args) >= 2)
            if named and isinstance(node.args[0], ast.Constant):
                yield (ast.Attribute(value=node.func.value, attr=node.args[0].value,
                                     ctx=ast.Store()), node.args[1])

    def _note(self, node, target, value):
        if isinstance(target, ast.Starred):
            target = target.value
        function = self.enclosing(node)
        if isinstance(target, ast.Name):
            own = function is not None and target.id in self.tree.bound(function)
            if isinstance(node, ast.comprehension):
                own = function is not None
            table = self.locals.setdefault(function, {}) if own else self.globals
            table.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            name = self.self_class(target.value, node)
            if name:
                self.attributes[name].setdefault(target.attr, []).append(value)
            elif target.value.id in self.classes:
                self.attributes[target.value.id].setdefault(target.attr, []).append(value)

    def enclosing(self, node):
        """The named function or method around a node; lambdas belong to it."""
        found = None
        for ancestor in self.tree.ancestors(node):
            if isinstance(ancestor, FUNCTION_DEFS):
                found = ancestor
                if ancestor in self.class_of or ancestor.name in self.functions:
                    break
        return found

    def self_class(self, name, node):
        """The class if `name` is the first parameter of the method around `node`."""
        for ancestor in self.tree.ancestors(node):
            if ancestor in self.class_of:
                arguments = ancestor.args.posonlyargs + ancestor.args.args
                static = any(isinstance(d, ast.Name) and d.id == "staticmethod"
                             for d in ancestor.decorator_list)
                if arguments and arguments[0].arg == name.id and not static:
                    return self.class_of[ancestor]
                return None
        return None

    def _find_model(self):
        """The ClassDef of ModelNew; ("alias", node) where it is another name; or None."""
        if "ModelNew" in self.classes:
            return self.classes["ModelNew"]
        for value in self.globals.get("ModelNew", []):
            if isinstance(value, ast.Name) and value.id in self.classes:
                return self.classes[value.id]
        return None

    def base_classes(self, name, depth=0):
        """Names of the classes of this file that `name` inherits from, itself first."""
        found = [name]
        for base in self.classes[name].bases if depth < DEPTH_MAX else []:
            if isinstance(base, ast.Name) and base.id in self.classes and base.id != name:
                found += [n for n in self.base_classes(base.id, depth + 1) if n not in found]
        return found

    def method(self, cls, name):
        return next((self.methods[c][name] for c in self.base_classes(cls)
                     if name in self.methods[c]), None)

    # Kinds.

    def is_loader(self, call):
        return isinstance(call, ast.Call) and bool(
            self.tree.dotted(call.func) & set(self.rules["loaders"]))

    def kinds(self, node, depth=0):
        if node is None or depth > DEPTH_MAX:
            return frozenset()
        if node not in self._memo:
            self._memo[node] = frozenset()  # for what is defined through itself
            self._memo[node] = frozenset(self._kinds(node, depth + 1))
        return self._memo[node]

    def _all(self, nodes, depth):
        return frozenset().union(*[self.kinds(node, depth) for node in nodes])

    def _kinds(self, node, depth):
        if isinstance(node, ast.Call):
            return self._call_kinds(node, depth)
        if isinstance(node, ast.Name):
            return self._name_kinds(node, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute_kinds(node, depth)
        if isinstance(node, ast.Subscript):
            return self.kinds(node.value, depth)
        if isinstance(node, (ast.NamedExpr, ast.Starred)):
            return self.kinds(node.value, depth)
        if isinstance(node, ast.Lambda):
            return self.kinds(node.body, depth)
        if isinstance(node, ast.IfExp):
            return self._all([node.body, node.orelse], depth)
        if isinstance(node, ast.BoolOp):
            return self._all(node.values, depth)
        if isinstance(node, ast.BinOp):
            return self._all([node.left, node.right], depth) & {("tensor",)}
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return self._all(node.elts[:64], depth)
        if isinstance(node, ast.Dict):
            return self._all(node.values[:64], depth)
        if isinstance(node, ast.DictComp):
            return self.kinds(node.value, depth)
        if isinstance(node, COMPREHENSIONS):
            return self.kinds(node.elt, depth)
        return frozenset()

    def _name_kinds(self, node, depth):
        function = self.enclosing(node)
        while function is not None:
            if node.id in self.locals.get(function, {}):
                return self._all(self.locals[function][node.id][:16], depth)
            for a in function.args.posonlyargs + function.args.args + function.args.kwonlyargs:
                if a.arg == node.id:
                    return self._parameter_kinds(function, a)
            function = self.enclosing(function)
        if node.id in self.classes:
            return {("classobj", node.id)}
        if node.id in self.functions:
            return {("func", node.id)}
        return self._all(self.globals.get(node.id, [])[:16], depth)

    def _parameter_kinds(self, function, argument):
        if argument.annotation is not None:
            return {("tensor",)} if "torch.Tensor" in self.tree.dotted(argument.annotation) else ()
        owner = self.class_of.get(function)
        is_forward = (function.name == "forward" and self.model is not None
                      and owner in self.base_classes(self.model.name))
        first = (function.args.posonlyargs + function.args.args)[:1]
        return {("tensor",)} if is_forward and argument not in first else ()

    def _attribute_kinds(self, node, depth):
        if isinstance(node.value, ast.Name):
            cls = self.self_class(node.value, node)
            if cls is None and node.value.id in self.classes:
                cls = node.value.id
            if cls is not None:
                return self._member_kinds(cls, node.attr, depth)
        base = self.kinds(node.value, depth)
        found = set()
        for kind in base:
            if kind == ("ext",):
                found.add(kind)
            elif kind[0] == "nn" and node.attr in ("weight", "bias", "running_mean", "running_var"):
                found.add(("tensor",))
            elif kind[0] in ("class", "classobj"):
                found |= self._member_kinds(kind[1], node.attr, depth)
            elif kind == ("tensor",) and node.attr in ("T", "mT", "data", "grad"):
                found.add(kind)
        return found

    def _member_kinds(self, cls, name, depth):
        found = set()
        for c in self.base_classes(cls):
            if name in self.methods[c]:
                found.add(("method", c, name))
                break
        values = [v for c in self.base_classes(cls) for v in self.attributes[c].get(name, [])]
        return found | self._all(values[:16], depth)

    def _call_kinds(self, node, depth):
        if self.is_loader(node):
            return {("ext",)}
        found = set()
        for dotted in self.tree.dotted(node.func):
            if dotted.startswith("torch.nn.") and not dotted.startswith("torch.nn.functional"):
                name = dotted.rsplit(".", 1)[1]
                if name in ("Parameter", "Buffer"):
                    found.add(("tensor",))
                elif name in self.rules["nn_containers"]:
                    values = [v for a in node.args for v in [a]]
                    found |= self._all(values, depth)
                    if name == "Sequential":
                        found.add(("nn", name))
                else:
                    found.add(("nn", name))
            elif dotted.startswith("functools.partial") and node.args:
                found |= self.kinds(node.args[0], depth)
            elif dotted.startswith("torch.") and dotted.count(".") == 1:
                if dotted.split(".")[1] in self.rules["torch_calls"]:
                    found.add(("tensor",))
        if found:
            return found
        if isinstance(node.func, ast.Attribute):
            base = self.kinds(node.func.value, depth)
            if node.func.attr in SAME:
                found |= {k for k in base if k[0] in ("nn", "class")}
            if node.func.attr in TENSOR_METHODS and ("tensor",) in base:
                found.add(("tensor",))
        for kind in self.kinds(node.func, depth):
            if kind == ("ext",):
                found.add(("tensor",))
            elif kind[0] == "classobj":
                found.add(("class", kind[1]))
            elif kind[0] in ("func", "method"):
                found |= self._all(self._returns(self.function(kind)), depth)
        return found

    def function(self, kind):
        return self.functions[kind[1]] if kind[0] == "func" else self.methods[kind[1]][kind[2]]

    @staticmethod
    def _returns(function):
        return [n.value for n in walk(function) if isinstance(n, ast.Return)][:16]

    # What forward reaches.

    def reachable(self):
        """Functions and methods that a call of ModelNew may run, as a list of nodes."""
        found, todo = [], []

        def add(function):
            if function is not None and function not in found and len(found) < 512:
                found.append(function)
                todo.append(function)

        def add_kinds(kinds):
            for kind in kinds:
                if kind[0] in ("func", "method"):
                    add(self.function(kind))
                elif kind[0] == "class":
                    add(self.method(kind[1], "forward"))
                    add(self.method(kind[1], "__call__"))

        for name in ("forward", "__call__"):
            add(self.method(self.model.name, name))
        while todo:
            for node in walk(todo.pop()):
                if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                    add_kinds(self.kinds(node))
                    self._applied(node, add)
                elif isinstance(node, ast.Call):
                    add_kinds(self.kinds(node) if self._makes_object(node) else ())
                    if isinstance(node.func, ast.Attribute) and self._is_super(node.func.value):
                        owner = self.class_of.get(self.enclosing(node))
                        for base in self.base_classes(owner)[1:] if owner else []:
                            add(self.methods[base].get(node.func.attr))
        return found

    def _applied(self, node, add):
        """Function.apply of an autograd function runs its forward."""
        if isinstance(node, ast.Attribute) and node.attr == "apply":
            for kind in self.kinds(node.value):
                if kind[0] == "classobj":
                    add(self.method(kind[1], "forward"))

    def _makes_object(self, call):
        return any(kind[0] == "classobj" for kind in self.kinds(call.func))

    @staticmethod
    def _is_super(node):
        return (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                and node.func.id == "super")
