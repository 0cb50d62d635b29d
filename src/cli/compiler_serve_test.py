#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Goal: `kuafu-compiler --serve` answers every source, good, wrong or hostile, and goes on serving.
# Method: one server, a sequence of sources; what comes back is looked at, the library is loaded.
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import unittest

PROGRAM = sys.argv.pop(1)
HOSTILE = os.path.join(os.path.dirname(__file__), "..", "..", "kernels", "hostile")
GOOD = """#include <torch/extension.h>
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  scale<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel());
  return y;
}
"""
MAIN = """#include <torch/extension.h>
torch::Tensor run(torch::Tensor x);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
"""
# 2^26 instances: longer than any deadline here.
STALL = """template <int N, int M> struct T {
  static const int v = T<N - 1, M>::v + T<N - 1, M + (1 << N)>::v;
};
template <int M> struct T<0, M> { static const int v = 1; };
int x = T<26, 0>::v;
"""
F_GET_SEALS = 1034
SEAL_WRITE_AND_SIZE = 2 | 4 | 8  # F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE


class Server:
    def __init__(self):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(180)
        fd = theirs.fileno()

        def inherit():
            os.dup2(fd, 3)
            os.set_inheritable(3, True)

        self.process = subprocess.Popen([PROGRAM, "--serve"], preexec_fn=inherit, close_fds=False)
        theirs.close()
        self.id = 0

    def compile(self, source, file="t.cu", dialect="cuda", arch=900, timeout_ms=60000):
        return self.ask({"source": source, "file": file, "dialect": dialect, "arch": arch,
                         "timeout_ms": timeout_ms})

    def extension(self, units, defines=(), timeout_ms=60000):
        units = [{"file": file, "source": source, "device": not file.endswith(".cpp")}
                 for file, source in units]
        return self.ask({"units": units, "defines": list(defines), "dialect": "cuda", "arch": 900,
                         "timeout_ms": timeout_ms})

    def ask(self, request):
        self.id += 1
        request["id"] = self.id
        data = json.dumps(request).encode()
        self.socket.sendall(struct.pack("<I", len(data)) + data)
        reply, fds = b"", []
        while len(reply) < 4 or len(reply) < 4 + struct.unpack("<I", reply[:4])[0]:
            part, more, _, _ = socket.recv_fds(self.socket, 1 << 20, 16)
            if not part:
                raise EOFError("the server has ended")
            reply += part
            fds += more
        answer = json.loads(reply[4:])
        assert answer["id"] == self.id
        return answer, fds


class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.socket.close()
        assert cls.server.process.wait(30) == 0

    def good(self, **options):
        answer, fds = self.server.compile(GOOD, **options)
        self.assertTrue(answer.get("ok"), answer)
        self.assertEqual(answer["entry"], "run")
        self.assertEqual(len(fds), 2)
        content = []
        for fd in fds:
            self.assertEqual(fcntl.fcntl(fd, F_GET_SEALS) & SEAL_WRITE_AND_SIZE,
                             SEAL_WRITE_AND_SIZE)
            content.append(os.pread(fd, os.fstat(fd).st_size, 0))
        names = (b"kuafu_entry", b"kuafu_kernels", b"kuafu_kernel_count", b"kuafu_symbols")
        for name in names:
            self.assertIn(name, content[1])
        for fd in fds:
            os.close(fd)
        return content

    def hostile(self, name, timeout_ms=60000):
        with open(os.path.join(HOSTILE, name), "rb") as file:
            source = file.read().decode("utf8", "replace")
        answer, fds = self.server.compile(source, timeout_ms=timeout_ms)
        for fd in fds:
            os.close(fd)
        return answer

    def test_same_source_gives_the_same_bytes(self):
        self.assertEqual(self.good(), self.good())

    def test_musa(self):
        self.good(dialect="musa", arch=220, file="t.mu")

    def test_library_loads_and_runs_its_constructors(self):
        source = ("// kuafu\nint begin;\n__attribute__((constructor)) void set() { begin = 41; }\n"
                  "extern \"C\" int answer() { return ++begin; }\n")
        answer, fds = self.server.compile(source)
        self.assertTrue(answer.get("ok"), answer)
        library = ctypes.CDLL("/proc/self/fd/%d" % fds[1])
        self.assertEqual(library.answer(), 42)
        for fd in fds:
            os.close(fd)

    def test_wrong_source_is_told_where(self):
        answer, fds = self.server.compile(GOOD.replace("2.0f * x[i]", "2.0f * z[i]"))
        self.assertEqual((answer["ok"], fds), (False, []))
        first = answer["diagnostics"][0]
        self.assertEqual((first["severity"], first["line"], first["column"]), ("error", 4, 28))
        self.assertIn("t.cu:4:28: error: use of undeclared identifier 'z'", first["text"])
        self.assertTrue(first["text"].endswith("\n" + " " * 27 + "^"), first["text"])

    def test_crash_is_told_and_the_server_goes_on(self):
        answer = self.hostile("source-bangs.cu")
        self.assertFalse(answer["ok"])
        self.assertTrue("crash" in answer or answer.get("diagnostics"), answer)
        self.good()

    def test_crash_over_one_source_does_not_change_the_next(self):
        before = self.good()
        self.hostile("source-bangs.cu")
        self.assertEqual(self.good(), before)

    def test_process_that_is_killed_is_no_fault_of_its_source(self):
        server = Server()

        def kill():
            with open(f"/proc/{server.process.pid}/task/{server.process.pid}/children",
                      encoding="ascii") as children:
                for pid in children.read().split():
                    os.kill(int(pid), signal.SIGKILL)

        timer = threading.Timer(0.3, kill)
        timer.start()  # while they parse the headers for the first source
        answer, fds = server.compile(GOOD)
        timer.join()
        self.assertTrue(answer["ok"], answer)
        for fd in fds:
            os.close(fd)
        server.socket.close()
        self.assertEqual(server.process.wait(30), 0)

    def test_names_of_one_source_are_unknown_to_the_next(self):
        first = """#define GONE 1
#include <vector>
struct Mine { int x; };
template <> struct std::hash<Mine> { size_t operator()(Mine) const { return 1; } };
__constant__ float c[4];
__global__ void gone(Mine m, float* y) { y[0] = c[m.x]; }
"""
        for source in (first, first):
            answer, fds = self.server.compile(source)
            self.assertTrue(answer.get("ok"), answer)
            for fd in fds:
                os.close(fd)
        answer, fds = self.server.compile(
            "#ifdef GONE\n#error still defined\n#endif\nint size = sizeof(Mine);\n")
        self.assertEqual((answer["ok"], fds), (False, []))
        self.assertIn("'Mine'", answer["diagnostics"][0]["message"])

    def test_stall_ends_at_the_deadline_and_the_server_goes_on(self):
        answer, _ = self.server.compile(STALL, timeout_ms=2000)
        self.assertFalse(answer["ok"])
        self.assertTrue(answer.get("timeout") or "crash" in answer, answer)
        self.good()

    def test_files_of_the_machine_are_not_read(self):
        for name in ("source-include-passwd.cu", "source-include-dev-zero.cu",
                     "source-include-stdin.cu", "source-include-itself.cu"):
            answer = self.hostile(name)
            self.assertFalse(answer["ok"], name)
            self.assertTrue(answer["diagnostics"], name)
            self.assertNotIn("root:", json.dumps(answer))

    def test_assembler_cannot_include_a_file(self):
        source = GOOD + 'asm(".incbin \\"/etc/passwd\\"");\n'
        answer, fds = self.server.compile(source)
        for fd in fds:
            self.assertNotIn(b"root:", os.pread(fd, os.fstat(fd).st_size, 0))
            os.close(fd)
        self.assertFalse(answer["ok"])

    def good_extension(self):
        answer, fds = self.server.extension([("main.cpp", MAIN), ("cuda.cu", GOOD)])
        self.assertTrue(answer.get("ok"), answer)
        self.assertEqual(len(fds), 2)
        content = [os.pread(fd, os.fstat(fd).st_size, 0) for fd in fds]
        for fd in fds:
            self.assertEqual(fcntl.fcntl(fd, F_GET_SEALS) & SEAL_WRITE_AND_SIZE,
                             SEAL_WRITE_AND_SIZE)
            os.close(fd)
        for name in (b"kuafu_units", b"kuafu_unit_count", b"kuafu_extension"):
            self.assertIn(name, content[1])
        return content

    def test_extension_gives_the_same_bytes_whatever_was_before(self):
        before = self.good_extension()
        for source in (STALL, "!" * 300000, "#error no\n"):
            answer, fds = self.server.extension([("main.cpp", MAIN), ("cuda.cu", source)],
                                                timeout_ms=2000)
            self.assertEqual((answer["ok"], fds), (False, []))
        self.assertEqual(self.good_extension(), before)
        self.good()

    def test_stall_in_plain_cpp_ends_at_the_deadline(self):
        answer, _ = self.server.extension([("main.cpp", STALL), ("cuda.cu", GOOD)],
                                          timeout_ms=2000)
        self.assertFalse(answer["ok"])
        self.assertTrue(answer.get("timeout") or "crash" in answer, answer)

    def test_every_unit_tells_what_is_wrong_with_it(self):
        answer, _ = self.server.extension([("main.cpp", MAIN + "int a = one;\n"),
                                           ("cuda.cu", GOOD + "int b = two;\n"),
                                           ("more.cu", GOOD + "int b = two;\n")])
        texts = [d["text"] for d in answer["diagnostics"]]
        for want in ("main.cpp:4:9: error: use of undeclared identifier 'one'",
                     "cuda.cu:11:9: error: use of undeclared identifier 'two'",
                     "more.cu:11:9: error: use of undeclared identifier 'two'"):
            self.assertEqual(sum(text.startswith(want) for text in texts), 1, texts)

    def test_kernel_may_be_called_half_where_half_is_not_included(self):
        answer, fds = self.server.compile("__global__ void half(float* x) { x[0] *= 0.5f; }\n")
        self.assertTrue(answer.get("ok"), answer)
        for fd in fds:
            os.close(fd)
        answer, fds = self.server.compile(
            "#include <cuda_fp16.h>\n__global__ void k(half* x) { x[0] = __float2half(1.0f); }\n")
        self.assertTrue(answer.get("ok"), answer)
        for fd in fds:
            os.close(fd)


if __name__ == "__main__":
    unittest.main()
