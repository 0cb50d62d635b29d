#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: the static check refuses what it must and nothing else. Method: small files, each with the
codes that it must give; the honest ones use the same words in comments, strings and names.
The whole hack suite is in kernels/hacks_test.py."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# pylint: disable=wrong-import-position
from kuafu_candidate import legality, policy  # noqa: E402

POLICY = policy.load_policy()

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="e", cpp_sources="", cuda_sources="", functions=["run"])
"""


def model(forward, init="pass", extra=""):
    """A file whose ModelNew has these lines in forward and __init__."""
    def indent(text):
        return "\n".join("        " + line for line in text.split("\n"))
    return (HEAD + extra + "\nclass ModelNew(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n" + indent(init)
            + "\n    def forward(self, x):\n" + indent(forward) + "\n")


def codes(source, chosen=None):
    return {f.code for f in legality.check(source, chosen or POLICY) if f.severity == "reject"}


HONEST = {
    "plain": model("return ext.run(x)"),
    "words in comments and strings": model(
        '"""exec eval try: except: torch.matmul cudaGraph"""\n'
        'message = "import ctypes; os.system(1)"\n# eval(x) @ getattr(a, b)\nreturn ext.run(x)'),
    "names like calls": model("system = 1\ncompile = 2\nvars = compile\nreturn ext.run(x)"),
    "parameters of a submodule": model("return ext.run(x, self.fc.weight, self.fc.bias)",
                                       "self.fc = nn.Linear(3, 4)"),
    "reference pasted and unused": model("return ext.run(x)", extra="""
class Model(nn.Module):
    def __init__(self):
        super(Model, self).__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x):
        return F.relu(self.fc(x)) @ x
"""),
    "optional import": model("return ext.run(x)", extra="""
try:
    import torch_musa
except ImportError:
    pass
"""),
    "workspace": model("if self.buf is None or self.buf.shape != x.shape:\n"
                       "    self.buf = torch.empty_like(x)\n"
                       "ext.run(x, self.buf)\nreturn self.buf", "self.buf = None"),
    "transposed weight": model("if self.w_t is None:\n"
                               "    self.w_t = self.fc.weight.t().contiguous()\n"
                               "return ext.run(x, self.w_t)",
                               "self.fc = nn.Linear(3, 4)\nself.w_t = None"),
    "alignment": model("vector = x.data_ptr() % 16 == 0\nreturn ext.run(x, vector)"),
    "layers by name": model(
        "for i in range(2):\n    x = ext.run(x, getattr(self.rnn, f'weight_ih_l{i}'))\nreturn x",
        "self.rnn = nn.LSTM(3, 4, 2)"),
    "two classes": model("for block in self.blocks:\n    x = block(x)\nreturn x",
                         "self.blocks = nn.ModuleList([Block() for _ in range(2)])", """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)
    def forward(self, x):
        return ext.run(x, self.conv.weight)
"""),
    "autograd function": model("return Fn.apply(x)", extra="""
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return ext.run(x)
    @staticmethod
    def backward(ctx, g):
        return g.exp()
"""),
    "built when first used": """
import torch, os, tempfile
from torch import nn
from torch.utils.cpp_extension import load
_ext = None
def get_ext():
    global _ext
    if _ext is None:
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "kernel.cu")
        with open(path, "w") as f:
            f.write("source")
        os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
        _ext = load(name="e", sources=[path])
    return _ext
class ModelNew(nn.Module):
    def forward(self, x):
        if not x.is_cuda:
            raise RuntimeError("x must be on the device")
        return get_ext().softmax(x.contiguous())
""",
    "handle kept in the object": model("return self.op.matmul(x)", "self.op = ext"),
    "function kept in the object": model("return self.op(x)", "self.op = ext.run"),
    "error reported": model("try:\n    return ext.run(x)\nexcept RuntimeError as e:\n"
                            "    raise ValueError('bad shape') from e"),
    "main block": model("return ext.run(x)", extra="""
if __name__ == "__main__":
    torch.manual_seed(0)
    print(torch.matmul(torch.ones(2, 2), torch.ones(2, 2)))
"""),
    "mask made in init": model("return ext.run(x, self.mask)",
                               "self.register_buffer('mask', torch.tril(torch.ones(4, 4)))"),
    "dataclass": model("return ext.run(x)", extra="""
from dataclasses import dataclass, field
@dataclass
class Config:
    size: int = 4
    names: list = field(default_factory=list)
"""),
}

CAUGHT = {
    "no_model_new": "x = 1",
    "bad_python": "def f(:",
    "no_kernel": "import torch.nn as nn\nclass ModelNew(nn.Module):\n def forward(s, x): return x",
    "unused_extension": model("return x.clone()"),
    "inherits_reference": [
        HEAD + "class ModelNew(Model):\n    pass\n", HEAD + "ModelNew = Model\n",
        HEAD + "class A(Model): pass\nclass ModelNew(A):\n  def forward(s, x): return ext.run(x)"],
    "uses_reference": [
        model("return self.r(x) + ext.run(x)", "self.r = Model()"),
        model("return help_it(x) + ext.run(x)", extra="def help_it(x):\n    return Model()(x)\n")],
    "python_library_call": [
        model("return ext.run(F.relu(x))"), model("return ext.run(x) @ x"),
        model("x @= x\nreturn ext.run(x)"),
        model("return torch.mm(x, ext.run(x))"), model("return x.matmul(ext.run(x))"),
        model("mm = torch.matmul\nreturn mm(x, ext.run(x))"),
        model("return torch.ops.aten.mm(x, ext.run(x))"),
        model("return getattr(torch, 'matmul')(x, ext.run(x))"),
        model("return helper(ext.run(x))", extra="def helper(y):\n    return torch.relu(y)\n"),
        model("return F.gelu(ext.run(x))"),
        model("return torch.Tensor.matmul(x, ext.run(x))"),
        model("return torch.linalg.norm(ext.run(x))"),
        model("return ext.run(x).contiguous().softmax(-1)"),
        model("f = lambda t: torch.relu(t)\nreturn f(ext.run(x))")],
    "module_call": [
        model("return self.fc(ext.run(x))", "self.fc = nn.Linear(3, 3)"),
        model("return self.fc.forward(ext.run(x))", "self.fc = nn.Linear(3, 3)"),
        model("return self.s(ext.run(x))", "self.s = nn.Sequential(nn.Linear(3, 3), nn.ReLU())"),
        model("for f in self.l:\n    x = f(x)\nreturn ext.run(x)",
              "self.l = nn.ModuleList([nn.Linear(3, 3)])"),
        model("return nn.ReLU()(ext.run(x))"),
        model("return nn.Linear.forward(self.fc, ext.run(x))", "self.fc = nn.Linear(3, 3)"),
        HEAD + "class ModelNew(nn.Linear):\n  def forward(self, x):\n"
               "    ext.run(x)\n    return super().forward(x)"],
    "try_except_fallback": [
        model("try:\n    return ext.run(x)\nexcept Exception:\n    return x"),
        "import torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\n"
        "try:\n    ext = load_inline(name='e', cpp_sources='')\nexcept Exception:\n    ext = None\n"
        "class ModelNew(nn.Module):\n  def forward(self, x):\n    return ext.run(x)",
        model("with contextlib.suppress(Exception):\n    return ext.run(x)\nreturn x",
              extra="import contextlib\n")],
    "monkey_patch": [
        model("return ext.run(x)", extra="torch.allclose = lambda *a, **k: True\n"),
        model("return ext.run(x)", extra="import time\ntime.perf_counter = lambda: 0\n"),
        model("return ext.run(x)", extra="setattr(torch.cuda.Event, 'elapsed_time', None)\n"),
        model("return ext.run(x)", extra="nn.Module.__call__ = None\n"),
        model("return ext.run(x)", extra="t = torch\nt.equal = None\n"),
        model("type(x).shape = 3\nreturn ext.run(x)"),
        model("return ext.run(x)", extra="del torch.allclose\n"),
        model("return ext.run(x)", extra="for torch.equal in [None]:\n    pass\n")],
    "forbidden_import": [
        model("return ext.run(x)", extra="import secrets\n"),
        model("return ext.run(x)", extra="from . import reference\n"),
        model("torch.utils.cpp_extension.os.getcwd()\nreturn ext.run(x)"),
        model("return ext.run(x)", extra="from torch import *\n")],
    "dynamic_execution": [
        model("exec('a=1')\nreturn ext.run(x)"), model("e = eval\nreturn ext.run(x)"),
        model("return getattr(torch, 'mat' + 'mul')(x, ext.run(x))"),
        model("__import__('os')\nreturn ext.run(x)"),
        model("return ext.run(x)", extra="import importlib\n"),
        model("y = [0 for eval in ()]\neval('1')\nreturn ext.run(x)"),
        model("def g():\n    eval = 1\neval('1')\nreturn ext.run(x)"),
        model("return ext.run(x)", extra="import builtins\n")],
    "introspection": [
        model("x.__class__.__bases__\nreturn ext.run(x)"),
        model("globals()\nreturn ext.run(x)"),
        model("(lambda: 0).__globals__\nreturn ext.run(x)"),
        model("getattr(x, '__dict__')\nreturn ext.run(x)")],
    "frame_walk": [
        model("return ext.run(x)", extra="import inspect\n"),
        model("return ext.run(x)", extra="import gc\n"),
        model("sys._getframe(1)\nreturn ext.run(x)", extra="import sys\n"),
        model("x.f_locals\nreturn ext.run(x)")],
    "thread_injection": [model("return ext.run(x)", extra="import threading\n"),
                         model("os.system('ls')\nreturn ext.run(x)", extra="import os\n")],
    "cuda_graph": model("g = torch.cuda.CUDAGraph()\nreturn ext.run(x)"),
    "torch_internals": [model("torch._C._cuda_init()\nreturn ext.run(x)"),
                        model("return ext.run(x)", extra="from torch import _C\n")],
    "lazy_tensor": model("return Lazy(ext.run(x))", extra="class Lazy(torch.Tensor):\n    pass\n"),
    "harness_access": [
        model("print(__file__)\nreturn ext.run(x)"),
        model("os.environ.get('KUAFU_MODE')\nreturn ext.run(x)", extra="import os\n"),
        model("sys.argv\nreturn ext.run(x)", extra="import sys\n"),
        model("return ext.run(x)", extra="import ctypes\n")],
    "file_access": [model("open('/proc/self/maps').read()\nreturn ext.run(x)"),
                    model("open(os.path.join('/dev/shm', 'a.cu'), 'w')\nreturn ext.run(x)",
                          extra="import os\n"),
                    model("open(x.name)\nreturn ext.run(x)"),
                    model("torch.save(x, 'y')\nreturn ext.run(x)")],
    "sleep": model("time.sleep(1)\nreturn ext.run(x)", extra="import time\n"),
    "global_flags": [
        model("return ext.run(x)", extra="torch.backends.cuda.matmul.allow_tf32 = True\n"),
        model("return ext.run(x)", extra="torch.set_num_threads(1)\n")],
    "reseed": model("torch.manual_seed(42)\nreturn ext.run(x)"),
    "unsupported_language": model("return ext.run(x)", extra="import triton\n"),
    "output_cache": [
        model("k = x.data_ptr()\nif k not in C:\n    C[k] = ext.run(x)\nreturn C[k]",
              extra="C = {}\n"),
        model("if self.out is None:\n    self.out = ext.run(x)\nreturn self.out",
              "self.out = None"),
        model("if self.key == id(x):\n    return self.out.clone()\nself.key = id(x)\n"
              "self.out = ext.run(x)\nreturn self.out", "self.out = None\nself.key = None"),
        model("global LAST\nif LAST is not None:\n    return LAST\nLAST = ext.run(x)\nreturn LAST",
              extra="LAST = None\n")],
}


class Check(unittest.TestCase):
    def test_honest_files_are_clean(self):
        for name, source in HONEST.items():
            with self.subTest(name):
                self.assertEqual(legality.check(source, POLICY), [])

    def test_each_rule_fires_alone(self):
        for code, sources in CAUGHT.items():
            for source in [sources] if isinstance(sources, str) else sources:
                with self.subTest(code, source=source[-160:]):
                    self.assertEqual(codes(source), {code})

    def test_a_finding_names_its_place(self):
        finding = legality.check(model("y = x\nreturn ext.run(x) @ y"), POLICY)[0]
        self.assertEqual((finding.line, finding.column, finding.cls, finding.severity),
                         (14, 16, "illegal_fallback", "reject"))
        self.assertIn("@", finding.message)

    def test_warnings_do_not_reject(self):
        found = legality.check(model("assert x.shape[0] == 64\nif x.shape == (64, 64):\n    pass\n"
                                     "return ext.run(x.half())"), POLICY)
        self.assertEqual({(f.code, f.severity) for f in found},
                         {("hard_coded_shape", "warn"), ("precision_downgrade", "warn")})
        strict = policy.load_policy("strict")
        self.assertEqual(codes(model("return ext.run(x.half())"), strict), {"precision_downgrade"})
        lenient = policy.load_policy("lenient")
        self.assertEqual(codes(model("return ext.run(torch.cat([x, x]))"), lenient), set())

    def test_hostile_text_is_a_clean_error(self):
        for source in ("\0", "a" * 2_000_000, "(" * 100_000, "-" * 100_000 + "1",
                       "x = " + "+".join(["1"] * 100_000), "a." * 50_000 + "b", "\ud800",
                       "[" * 150 + "]" * 150, "if 1:\n" * 90, "lambda: " * 20_000 + "0",
                       "x" + "()" * 30_000, "\n".join(" " * i + "if 1:" for i in range(200)),
                       b"bytes", None):
            with self.subTest(str(source)[:20]):
                found = legality.check(source, POLICY)
                self.assertTrue(found)
                self.assertEqual(found[0].cls, "format_error")

    def test_definitions_that_go_in_circles_end(self):
        for source in (
                "class ModelNew(ModelNew):\n def forward(self, x): return self.forward(x)",
                "class A(B): pass\nclass B(A): pass\nclass ModelNew(A): pass",
                HEAD + "a = b\nb = a\nclass ModelNew(nn.Module):\n def forward(s, x): return a(b)"):
            with self.subTest(source[:30]):
                self.assertTrue(legality.check(source, POLICY))

    def test_every_code_has_a_class_and_a_text(self):
        for name in ("default", "strict", "lenient"):
            chosen = policy.load_policy(name)
            self.assertEqual(chosen["name"], name)
            for code, rule in chosen["rules"].items():
                self.assertRegex(code, "^[a-z_]+$")
                self.assertIn(rule["class"], ("format_error", "illegal_fallback", "cheating"))
                self.assertIn(rule["severity"], ("reject", "warn", "off"))
                self.assertTrue(rule["text"])
            used = set()
            for table in ("module_codes", "attribute_codes", "builtins", "methods_denied",
                          "attributes_denied", "torch_denied"):
                used |= set(chosen["python"][table].values())
            for table in ("include_codes", "names_denied", "calls_denied", "qualified_denied"):
                used |= set(chosen["cpp"][table].values())
            self.assertLessEqual(used, set(chosen["rules"]))


if __name__ == "__main__":
    unittest.main()
