# SPDX-License-Identifier: Apache-2.0
"""A candidate's syntax tree with parents, scopes, and the dotted names that its aliases stand for.

Every walk here is a loop, not a recursion: the source may nest thousands of levels.
"""
import ast
import warnings

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
ALIAS_ROUNDS = 4


class Tree:
    def __init__(self, module, nodes, parents):
        self.module = module
        self.nodes = nodes        # every node, parents first
        self._parents = parents
        self._bound = {}          # function -> names that are its own
        self.aliases = {}         # name -> dotted names that it may stand for
        self._collect_aliases()

    def parent(self, node):
        return self._parents.get(node)

    def ancestors(self, node):
        while (node := self._parents.get(node)) is not None:
            yield node

    def function_of(self, node):
        """The innermost function that holds `node`, None at module or class level."""
        return next((a for a in self.ancestors(node) if isinstance(a, FUNCTIONS)), None)

    def is_local(self, name):
        """True if the Name node is a parameter or a variable of a function around it."""
        return any(name.id in self.bound(a) for a in self.ancestors(name)
                   if isinstance(a, FUNCTIONS + COMPREHENSIONS))

    def bound(self, scope):
        """The names that belong to a function or a comprehension itself. What scopes inside it
        bind is theirs: `[0 for eval in ()]` makes no local variable `eval` around it."""
        if scope not in self._bound:
            names, outer = set(), set()
            if isinstance(scope, COMPREHENSIONS):
                starts = [generator.target for generator in scope.generators]
            else:
                a = scope.args
                names.update(arg.arg for arg in a.posonlyargs + a.args + a.kwonlyargs
                             + [a.vararg, a.kwarg] if arg is not None)
                starts = scope.body if isinstance(scope.body, list) else [scope.body]
            for node in own_nodes(starts):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
                elif isinstance(node, ast.Global):
                    outer.update(node.names)
            self._bound[scope] = names - outer
        return self._bound[scope]

    def dotted(self, node):
        """The names that an expression stands for: {"torch.nn.Linear"}, or nothing."""
        parts = []
        while True:
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
                node = node.value
            elif (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                  and node.func.id == "getattr" and len(node.args) >= 2
                  and isinstance(node.args[1], ast.Constant)
                  and isinstance(node.args[1].value, str)):
                parts.append(node.args[1].value)
                node = node.args[0]
            elif isinstance(node, ast.NamedExpr):
                node = node.value
            else:
                break
        if not isinstance(node, ast.Name):
            return set()
        tail = "".join("." + part for part in reversed(parts))
        return {base + tail for base in self.aliases.get(node.id, ())}

    def _collect_aliases(self):
        def note(name, dotted):
            known = self.aliases.setdefault(name, set())
            if dotted not in known and len(known) < 8:
                known.add(dotted)
                return True
            return False
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for a in node.names:
                    note(a.asname or a.name.split(".")[0],
                         a.name if a.asname else a.name.split(".")[0])
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for a in node.names:
                    note(a.asname or a.name, f"{node.module}.{a.name}")
        pairs = [pair for node in self.nodes for pair in assigned(node)]
        for _ in range(ALIAS_ROUNDS):
            changed = False
            for target, value in pairs:
                if isinstance(target, ast.Name) and value is not None:
                    for name in list(self.dotted(value)):
                        changed |= note(target.id, name)
            if not changed:
                break


def walk(node):
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(ast.iter_child_nodes(node))


def own_nodes(starts):
    """All nodes below, without those of functions, classes and comprehensions inside."""
    todo = list(starts)
    while todo:
        node = todo.pop()
        if isinstance(node, FUNCTIONS + COMPREHENSIONS + (ast.ClassDef,)):
            continue
        yield node
        todo.extend(ast.iter_child_nodes(node))


def assigned(node):
    """Pairs of target and value; the value is None where it is not known."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            same = (isinstance(target, (ast.Tuple, ast.List))
                    and isinstance(node.value, (ast.Tuple, ast.List))
                    and len(target.elts) == len(node.value.elts))
            if same:
                yield from zip(target.elts, node.value.elts)
            elif isinstance(target, (ast.Tuple, ast.List)):
                for element in target.elts:
                    yield element, None
            else:
                yield target, node.value
    elif isinstance(node, ast.AnnAssign):
        yield node.target, node.value
    elif isinstance(node, ast.AugAssign):
        yield node.target, None
    elif isinstance(node, ast.NamedExpr):
        yield node.target, node.value
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr


def parse(source, policy):
    """(Tree, "") or (None, what is wrong)."""
    limit = policy["limits"]["source_bytes"]
    if not isinstance(source, str):
        return None, "it is not text"
    if len(source.encode("utf-8", "surrogatepass")) > limit:
        return None, f"more than {limit} bytes"
    if "\0" in source:
        return None, "it holds a NUL byte"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(source)
    except SyntaxError as error:
        return None, f"line {error.lineno or 0}: {error.msg}"
    except (RecursionError, MemoryError):
        return None, "expressions are nested too deeply"
    except (ValueError, UnicodeError) as error:
        return None, str(error)
    nodes, parents, todo = [], {}, [module]
    while todo:
        node = todo.pop()
        nodes.append(node)
        if len(nodes) > policy["limits"]["nodes"]:
            return None, f"more than {policy['limits']['nodes']} syntax nodes"
        for child in ast.iter_child_nodes(node):
            # Contexts and operators are shared objects without a place.
            if not isinstance(child, (ast.expr_context, ast.operator, ast.cmpop, ast.boolop,
                                      ast.unaryop)):
                parents[child] = node
                todo.append(child)
    return Tree(module, nodes, parents), ""
