#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Candidates in extension form as they come from models: right ones, broken ones and hostile ones.
Each gets the class that helps its author; none costs more than its own verdict.

  candidate_test.py KUAFU
"""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

KUAFU = sys.argv.pop(1)

REFERENCE = """
import torch
import torch.nn as nn
rows = 16
columns = 67
class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(columns))
    def forward(self, x):
        return x * self.scale
def get_inputs():
    return [torch.randn(rows, columns)]
def get_init_inputs():
    return [columns]
"""

IMPORTS = """
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
"""

KERNEL = """
source = r'''
__global__ void scale_kernel(const float* x, const float* s, float* y, int n, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * s[i % columns];
}
torch::Tensor scale(torch::Tensor x, torch::Tensor s) {
  TORCH_CHECK(x.dim() == 2, "x must have two dimensions");
  x = x.contiguous();
  auto y = torch::empty_like(x);
  scale_kernel<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), s.data_ptr<float>(),
                                                 y.data_ptr<float>(), x.numel(), s.numel());
  return y;
}
'''
ext = load_inline(name="scale_ext",
                  cpp_sources="torch::Tensor scale(torch::Tensor x, torch::Tensor s);",
                  cuda_sources=source, functions=["scale"])
"""

MODEL = """
class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(columns))
    def forward(self, x):
        return ext.scale(x, self.scale)
"""

RIGHT = IMPORTS + KERNEL + MODEL


def forward(body, init="self.scale = nn.Parameter(torch.randn(columns))"):
    return IMPORTS + KERNEL + f"""
class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        {init}
    def forward(self, x):
{textwrap.indent(textwrap.dedent(body).strip(), " " * 8)}
"""


class Extension(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.cases = []

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def judge(self, candidates, *options, reference=REFERENCE, target="sim:h100",
              sanitize=False):
        """Verdicts by name, of one process, so that a candidate that breaks it is noticed."""
        folder = tempfile.mkdtemp(dir=self.folder.name)
        with open(os.path.join(folder, "ref.py"), "w", encoding="utf-8") as file:
            file.write(reference)
        listed = os.path.join(folder, "list.jsonl")
        with open(listed, "w", encoding="utf-8") as file:
            for name, text in candidates.items():
                path = os.path.join(folder, name + ".py")
                with open(path, "wb") as candidate:
                    candidate.write(text if isinstance(text, bytes) else text.encode())
                file.write(json.dumps({"id": name, "reference": os.path.join(folder, "ref.py"),
                                       "kernel": path, "target": target}) + "\n")
        if not sanitize:
            options += ("--no-sanitize",)
        run = subprocess.run([KUAFU, "verify", "--batch", listed, *options], capture_output=True,
                             text=True, timeout=280, check=False)
        answers = {}
        for line in run.stdout.splitlines():
            answer = json.loads(line)
            self.assertNotIn(answer["id"], answers)
            answers[answer["id"]] = answer.get("verdict", answer)
        self.assertEqual(set(answers), set(candidates), run.stderr)
        return answers

    def expect(self, expected, *options, **where):
        """`expected`: name -> (text, class, words of the summary)."""
        answers = self.judge({n: e[0] for n, e in expected.items()}, *options, **where)
        for name, (_, cls, *words) in expected.items():
            verdict = answers[name]
            with self.subTest(name):
                self.assertEqual(verdict["class"], cls, verdict["summary"])
                for word in words:
                    self.assertIn(word, verdict["summary"])

    def test_what_is_right_passes_in_every_wrapping(self):
        self.expect({
            "plain": (RIGHT, "pass"),
            "fenced": ("Here is the kernel:\n```python\n" + RIGHT + "```\nIt is fast.", "pass"),
            "two_fences": ("```python\nx = 1\n```\nand\n```python\n" + RIGHT + "```\n", "pass"),
            "after_thinking": ("<think>```python\nclass ModelNew: pass\n```</think>\n```python\n"
                               + RIGHT + "```", "pass"),
            "windows_lines": (RIGHT.replace("\n", "\r\n"), "pass"),
            "musa_names": (RIGHT.replace(
                "return ext.scale(x, self.scale)",
                "return ext.scale(x.to('musa'), self.scale.musa())").replace(
                "import torch\n", "import torch\nimport torch_musa\n", 1), "pass"),
            "musa_is_optional": (RIGHT.replace(
                "import torch\n", "import torch\ntry:\n    import torch_musa\nexcept ImportError:\n"
                "    torch_musa = None\n", 1).replace(
                "__global__", "#include <cuda_runtime.h>\n__global__", 1), "pass"),
            "other_parameter_name": (RIGHT.replace("self.scale", "self.weight"), "pass"),
            "derived_state": (forward("return ext.scale(x, self.twice)",
                                      "self.scale = nn.Parameter(torch.randn(columns)); "
                                      "self.register_buffer('twice', self.scale.detach().clone())"),
                              "pass"),
        })

    def test_what_cannot_be_loaded_says_why(self):
        self.expect({
            "empty": ("", "format_error"),
            "prose": ("I am sorry, I cannot do that.", "format_error"),
            "syntax": (RIGHT + "\ndef broken(:\n", "format_error"),
            "no_class": (IMPORTS + KERNEL, "format_error", "ModelNew"),
            "not_utf8": (b"\xff\xfe" + RIGHT.encode(), "format_error"),
            "deep": (RIGHT + "\nx = " + "(" * 5000 + ")" * 5000, "format_error"),
            "no_import": (RIGHT.replace("import torch.nn as nn", ""), "runtime_error", "nn"),
            "init_raises": (forward("return ext.scale(x, self.scale)", "raise ValueError('no')"),
                            "runtime_error", "no"),
            "init_signature": (RIGHT.replace("def __init__(self, columns)", "def __init__(self)")
                               .replace("torch.randn(columns)", "torch.randn(67)"),
                               "runtime_error", "__init__"),
            "forward_signature": (RIGHT.replace("def forward(self, x)", "def forward(self)")
                                  .replace("scale(x,", "scale(self.scale,"), "runtime_error"),
        })

    def test_an_extension_that_does_not_compile_shows_the_compiler(self):
        self.expect({
            "error": (RIGHT.replace("int i =", "int i = undeclared +"), "compile_error",
                      "undeclared"),
            "undefined": (RIGHT.replace('functions=["scale"]', 'functions=["scal"]'),
                          "compile_error", "scal"),
            "not_defined": (RIGHT.replace("torch::Tensor scale(torch::Tensor x, torch::Tensor s) {",
                                          "torch::Tensor other(torch::Tensor x, torch::Tensor s) "
                                          "{"), "compile_error", "scale"),
            "bangs": (RIGHT.replace("x = x.contiguous();", "x = x.contiguous(); int b = "
                                    + "!" * 100000 + "1;"), "compile_error"),
            "templates": (RIGHT.replace(
                "source = r'''", "source = r'''\ntemplate <int N> struct T { static constexpr "
                "long v = T<N + 1>::v + T<N + 2>::v; };\nlong w = T<0>::v;"), "compile_error"),
        })

    def test_what_forward_does_wrong_has_its_class(self):
        self.expect({
            "none": (forward("ext.scale(x, self.scale)"), "runtime_error", "no tensor"),
            "number": (forward("ext.scale(x, self.scale)\nreturn 3"), "runtime_error", "int"),
            "cpu": (forward("return ext.scale(x, self.scale).cpu()"), "runtime_error", "CPU"),
            "raises": (forward("return ext.scale(x[0], self.scale)"), "runtime_error",
                       "two dimensions"),
            "shape": (forward("return ext.scale(x, self.scale)[:1]"), "wrong_shape"),
            "two": (forward("y = ext.scale(x, self.scale)\nreturn y, y"), "wrong_shape"),
            "wrong": (RIGHT.replace("s[i % columns]", "s[0]"), "wrong_result"),
            "in_place": (RIGHT.replace("auto y = torch::empty_like(x);", "auto y = x;"),
                         "input_modified"),
            "out_of_bounds": (RIGHT.replace("if (i < n) y[i]", "if (i <= n) y[i]"), "oob"),
            "endless": (RIGHT.replace("if (i < n)", "while (true) if (i < n)"), "timeout"),
            "host_loop": (RIGHT.replace("x = x.contiguous();", "x = x.contiguous(); "
                                        "volatile int spin = 0; for (;;) spin = spin + 1;"),
                          "timeout"),
            "all_memory": (forward("y = torch.empty(1 << 38, device='cpu')\n"
                                   "return ext.scale(x, self.scale)"), "runtime_error"),
            "all_device_memory": (forward("y = torch.empty(1 << 30, device='cuda')\n"
                                          "return ext.scale(x, self.scale)"), "runtime_error"),
            "exits": (RIGHT.replace("x = x.contiguous();", "x = x.contiguous(); exit(0);"),
                      "runtime_error"),
            "segfault": (RIGHT.replace("x = x.contiguous();",
                                       "x = x.contiguous(); *(volatile int*)8 = 1;"),
                         "runtime_error"),
        }, "--timeout-s=4", "--policy=lenient")

    def test_texts_devices_and_submodules_reach_the_extension(self):
        source = RIGHT.replace("torch::Tensor scale(torch::Tensor x, torch::Tensor s) {", """
torch::Tensor scale(torch::Tensor x, torch::Tensor s, const char* mode, torch::Device where) {
  TORCH_CHECK(std::string(mode) == "rows" && where.is_cuda() && where == x.device());""").replace(
            "return y;\n}", "return y;\n}\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n"
            '  m.def_submodule("ops").def("scale", &scale);\n}').replace(
            'cpp_sources="torch::Tensor scale(torch::Tensor x, torch::Tensor s);"',
            'cpp_sources=""').replace(', functions=["scale"]', "")
        self.expect({
            "device": (source.replace("ext.scale(x, self.scale)",
                                      'ext.ops.scale(x, self.scale, "rows", x.device)'), "pass"),
            "made": (source.replace("ext.scale(x, self.scale)", "ext.ops.scale(x, self.scale, "
                                    '"rows", torch.device("cuda:0"))'), "pass"),
        }, "--policy=lenient")

    def test_a_tensor_made_without_a_device_is_on_the_cpu(self):
        """As in PyTorch, where a kernel that is given its address brings the GPU down."""
        made = "auto y = torch::empty_like(x);"

        def workspace(text):
            """The kernel takes its factors from a second tensor instead of the parameter."""
            return RIGHT.replace(made, made + " " + text).replace("s.data_ptr<float>()",
                                                                  "w.data_ptr<float>()")
        rows = "torch::zeros({x.size(0), x.size(1)}, torch::kFloat32)"
        self.expect({
            "output_read": (RIGHT.replace(made, f"auto y = {rows};"), "oob", "host memory",
                            "the float32 tensor", "on the CPU", "options()"),
            "no_options": (workspace("auto w = torch::zeros({s.numel()}); w.copy_(s);"), "oob",
                           "host memory"),
            "tensor": (workspace("auto w = torch::ones_like(s, torch::kCPU);"), "oob",
                       "host memory"),
            "from_python": (forward("return ext.scale(x, self.scale.detach().cpu())"), "oob",
                            "host memory"),
            "moved": (RIGHT.replace(made, f"auto y = {rows}.to(x.device());"), "pass"),
            "moved_by_cuda": (workspace("auto w = torch::empty({s.numel()}).cuda(); w.copy_(s);"),
                              "pass"),
            "device_given": (RIGHT.replace(made, "auto y = torch::empty({x.size(0), x.size(1)}, "
                                           "torch::device(torch::kCUDA));"), "pass"),
            "returned": (RIGHT.replace("return y;", "return y.cpu();"), "runtime_error",
                         "returned a tensor on the CPU"),
            "checked": (forward("return ext.scale(x.cpu(), self.scale)").replace(
                "TORCH_CHECK(", 'TORCH_CHECK(x.is_cuda(), "x must be on the GPU"); TORCH_CHECK('),
                        "runtime_error", "x must be on the GPU"),
            "host_result": (forward("y = ext.scale(x, self.scale)\nassert not y.is_cuda\n"
                                    "return y.cuda()").replace("return y;", "return y.cpu();"),
                            "illegal_fallback"),
            "accessor": (RIGHT.replace(made, made + " auto a = x.accessor<float, 2>();"),
                         "runtime_error", "on the GPU"),
        }, "--policy=lenient")

    def test_cub_within_a_block_is_no_library_and_over_arrays_is(self):
        include = "source = r'''\n#include <cub/cub.cuh>"
        block = """
__global__ void total_kernel(const float* x, float* y, int n) {
  using Reduce = cub::BlockReduce<float, 100>;
  __shared__ typename Reduce::TempStorage temp;
  float v = 0;
  for (int i = threadIdx.x; i < n; i += 100) v += x[blockIdx.x * n + i];
  v = Reduce(temp).Sum(v);
  BARRIER
  float top = Reduce(temp).Reduce(v, cub::Max());
  if (threadIdx.x == 0) y[blockIdx.x] = v + 0 * top;
}
torch::Tensor total(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options());
  total_kernel<<<x.size(0), 100>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
'''
"""
        head = IMPORTS + include
        tail = """
ext = load_inline(name="total", cpp_sources="torch::Tensor total(torch::Tensor x);",
                  cuda_sources=source, functions=["total"])
class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
    def forward(self, x):
        return ext.total(x)
"""
        reference = REFERENCE.replace("x * self.scale", "x.sum(1)").replace(
            "self.scale = nn.Parameter(torch.randn(columns))", "pass")
        right = head + block.replace("BARRIER", "__syncthreads();") + tail
        device = right.replace("auto y = torch::empty({x.size(0)}, x.options());", """
  auto y = torch::empty({x.size(0)}, x.options());
  size_t bytes = 0;
  cub::DeviceReduce::Sum(nullptr, bytes, x.data_ptr<float>(), y.data_ptr<float>(), x.numel());""")
        self.expect({
            "right": (right, "pass"),
            "device": (device, "illegal_fallback", "cub::DeviceReduce::Sum"),
        }, "--policy=lenient", reference=reference)
        self.expect({
            "storage_used_again": (head + block.replace("BARRIER", "") + tail, "race"),
        }, reference=reference, sanitize=True)

    def test_library_calls_and_other_ways_around_are_named(self):
        self.expect({
            "operator": (forward("y = ext.scale(x, self.scale)\nreturn x * self.scale"),
                         "illegal_fallback"),
            "hidden_operator": (forward("y = ext.scale(x, self.scale)\nz = x.clone()\n"
                                        "z *= self.scale\nreturn z"), "illegal_fallback", "mul"),
            "in_extension": (RIGHT.replace("return y;", "return at::mul(x, s);"),
                             "illegal_fallback"),
            "input_back": (forward("ext.scale(x, self.scale)\nreturn x"), "cheating"),
            "never_written": (forward("ext.scale(x, self.scale)\nreturn torch.empty_like(x)"),
                              "unwritten_output"),
            "zeros": (forward("ext.scale(x, self.scale)\nreturn torch.zeros_like(x)"), "cheating"),
            "no_launch": (RIGHT.replace("scale_kernel<<<", "if (false) scale_kernel<<<"),
                          "illegal_fallback"),
            "on_the_host": (RIGHT.replace(
                "scale_kernel<<<", "std::vector<float> h(x.numel(), 1.0f); "
                "cudaMemcpy(y.data_ptr<float>(), h.data(), 4 * x.numel(), cudaMemcpyHostToDevice);"
                " if (x.numel() < 0) scale_kernel<<<"), "illegal_fallback"),
        })

    def test_what_pytorch_includes_needs_no_include(self):
        body = """
  std::vector<int64_t> v(5);
  std::iota(v.begin(), v.end(), 0);
  std::sort(v.begin(), v.end(), std::greater<int64_t>());
  std::map<std::string, int64_t> sums{{"a", std::accumulate(v.begin(), v.end(), int64_t{0})}};
  std::unordered_map<int, std::set<int>> sets{{1, {2, 3}}};
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  std::function<float(float)> f = [](float a) { return std::abs(a); };
  auto shared = std::make_shared<std::complex<float>>(f(-1.0f), 0.0f);
  std::ostringstream text;
  text << shared->real() << std::numeric_limits<float>::max() << std::is_same<int, int>::value;
  if (sums["a"] != 10 || sets.at(1).size() != 2) std::cerr << text.str() << std::endl;
"""
        head = "torch::Tensor scale(torch::Tensor x, torch::Tensor s) {"
        self.expect({"names_of_std": (RIGHT.replace(head, head + body), "pass")})

    def test_functions_that_are_linked_are_seen(self):
        """What the text does not show: a function needs no header, and ours have names too."""
        head = "torch::Tensor scale(torch::Tensor x, torch::Tensor s) {"

        def linked(declaration, call):
            return RIGHT.replace(head, declaration + ";\n" + head + "\n  " + call + ";")

        self.expect({
            "unknown": (linked('extern "C" int getpagesize()', "getpagesize()"),
                        "cheating", "getpagesize"),
            "forged_answer": (linked('extern "C" int kuafu_host_send(const char*, const int*, int)',
                                     'kuafu_host_send("{}", nullptr, 0)'),
                              "compile_error", "kuafu_host_send"),
            "inner_part": (linked("namespace kuafu::os { int64_t ProcessCpuNs(); }",
                                  "kuafu::os::ProcessCpuNs()"), "compile_error", "ProcessCpuNs"),
            "own": (linked("static int getpagesize() { return 1; }",
                           "if (getpagesize() != 1) return x"), "pass"),
            "of_the_c_library": (
                linked("",
                       'if (strlen("a") > 1) { fprintf(stderr, "%d", rand()); exit(1); } '
                       "std::cerr << std::lround(0.5)"), "pass"),
        })

    def test_a_file_that_breaks_the_rules_on_the_second_target_only_is_named(self):
        change = KERNEL.replace("ext = ", "name = torch.cuda.get_device_name()\n"
                                "if 'MTT' in name:\n    source = '#include <cublas_v2.h>\\n'"
                                " + source\next = ")
        self.expect({"two_faced": (IMPORTS + change + MODEL, "illegal_fallback", "cublas")},
                    target="sim:h100,sim:mtt-s4000")

    def test_the_parent_survives_candidates_that_attack_the_process(self):
        attack = "import os\n"
        self.expect({
            "patches_torch": (RIGHT + "\ntorch.Tensor.data_ptr = lambda self: 0\n", "cheating"),
            "patches_builtins": (RIGHT + "\nimport builtins\nbuiltins.isinstance = print\n",
                                 "cheating"),
            "patches_time": (RIGHT + "\nimport time\ntime.perf_counter = print\n", "cheating"),
            "importer": (RIGHT + "\nimport sys\nsys.meta_path.insert(0, None)\n", "cheating"),
            "frames": (RIGHT + "\nimport inspect\ninspect.currentframe()\n", "cheating"),
            "ctypes": (RIGHT + "\nimport ctypes\nctypes.CDLL(None).exit(0)\n", "cheating"),
            "processes": (attack + RIGHT + "\nos.fork()\n", "cheating"),
        })

    def test_a_megabyte_and_equal_names_are_no_problem(self):
        second = RIGHT + KERNEL.replace("x[i] * s", "2.0f * x[i] * s").replace("ext =", "ext2 =")
        self.expect({
            "megabyte": (RIGHT + "\n# " + "x" * 1_000_000, "pass"),
            "equal_names": (second, "pass"),
            "the_second_of_equal_names": (second.replace("return ext.scale", "return ext2.scale"),
                                          "wrong_result"),
        })

    def test_kernelbench_protocol_accepts_what_ours_refuses(self):
        cheat = forward("y = ext.scale(x, self.scale)\nz = x.clone()\nz *= self.scale\nreturn z")
        self.expect({"cheat": (cheat, "illegal_fallback")})
        self.expect({"cheat": (cheat, "pass")}, "--compat=kernelbench")


if __name__ == "__main__":
    unittest.main(verbosity=2)
