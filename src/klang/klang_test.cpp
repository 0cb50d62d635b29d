// SPDX-License-Identifier: Apache-2.0
// Goal: source becomes a valid device module with the operations it asks for, and what is wrong
// comes back with file, line and caret. The kernels here use builtins only, so that no dialect
// header can break them.
#include "klang/klang.h"

#include <gtest/gtest.h>

#include "isa/isa.h"
#include "klang/entry.h"
#include "os/file.h"

namespace kuafu::klang {
namespace {

constexpr const char* kPrefix =
    "#define KERNEL extern \"C\" __attribute__((global)) void\n"
    "#define DEVICE __attribute__((device))\n"
    "#define TID __nvvm_read_ptx_sreg_tid_x()\n";
constexpr uint32_t kPrefixLines = 3;

CompileResult CompileText(const std::string& body, bool host = false) {
  CompileRequest request;
  request.source = kPrefix + body;
  request.file = "t.cu";
  request.include_dir = "/nonexistent";  // builtins only
  request.host = host;
  Result<CompileResult> result = Compile(request);
  EXPECT_TRUE(result.ok()) << result.error().ToString();
  return result.ok() ? std::move(result).value() : CompileResult{};
}

isa::Module Module(const std::string& body) {
  const CompileResult result = CompileText(body);
  for (const Diagnostic& d : result.diagnostics) ADD_FAILURE() << d.ToString();
  Result<isa::Module> module = isa::Read(result.device_module);
  EXPECT_TRUE(module.ok()) << module.error().ToString();
  return module.ok() ? std::move(module).value() : isa::Module{};
}

size_t Count(const isa::Module& module, isa::Op op) {
  size_t count = 0;
  for (const isa::Function& f : module.functions) {
    for (const isa::Inst& i : f.code) count += i.op == op;
  }
  return count;
}

TEST(KlangTest, GuardedVectorAdd) {
  const isa::Module m = Module(
      "KERNEL vadd(const float* x, float* y, int n) {\n  int i = TID;\n  if (i < n) y[i] = x[i] * "
      "2.0f + 1.0f;\n}\n");
  ASSERT_EQ(m.functions.size(), 1u);
  const isa::Function& f = m.functions[0];
  EXPECT_TRUE(f.is_kernel);
  EXPECT_EQ(f.name, "vadd");
  ASSERT_EQ(f.params.size(), 3u);
  EXPECT_EQ(f.params[0].name, "x");
  EXPECT_TRUE(f.params[0].is_pointer);
  EXPECT_EQ(f.params[2].offset, 16u);
  EXPECT_EQ(f.params[2].bytes, 4u);
  EXPECT_EQ(Count(m, isa::Op::kFma), 1u) << isa::Disassemble(m);
  EXPECT_EQ(Count(m, isa::Op::kFMul), 0u);
  EXPECT_EQ(Count(m, isa::Op::kCondBr), 1u);
  for (const isa::Inst& i : f.code) {
    if (i.op != isa::Op::kLoad && i.op != isa::Op::kStore) continue;
    EXPECT_EQ(i.Scale(), 4u);
    EXPECT_EQ(m.lines[i.line].line, 3 + kPrefixLines);
  }
}

TEST(KlangTest, SharedMemoryKeepsEveryAccessAndBarrier) {
  const isa::Module m = Module(
      "KERNEL k(float* out) {\n  __attribute__((shared)) static float s[64];\n  s[TID] = 1.0f;\n  "
      "__syncthreads();\n"
      "  for (int d = 32; d > 0; d >>= 1) {\n    if (TID < d) s[TID] += s[TID + d];\n    "
      "__syncthreads();\n  }\n  out[TID] = s[0];\n}\n");
  ASSERT_EQ(m.shared.size(), 1u);
  EXPECT_EQ(m.shared[0].bytes, 256u);
  EXPECT_EQ(m.functions[0].shared, std::vector<uint32_t>{0});
  EXPECT_GE(Count(m, isa::Op::kBarrier), 2u);
  bool shared_load = false;
  for (const isa::Inst& i : m.functions[0].code)
    shared_load = shared_load || (i.op == isa::Op::kLoad && i.MemSpace() == isa::Space::kShared);
  EXPECT_TRUE(shared_load) << isa::Disassemble(m);
}

// The exit of a loop may not lie between blocks of the loop.
TEST(KlangTest, LoopWithBreakIsContiguous) {
  const isa::Module m = Module(
      "KERNEL k(int* x, int n) {\n  int i = TID, s = 0;\n  while (i < n) {\n    int v = x[i];\n    "
      "if (v < 0) { s = -1; break; }\n"
      "    if (v == 7) { i += 2; continue; }\n    s += v; ++i;\n  }\n  x[TID] = s;\n}\n");
  const auto& code = m.functions[0].code;
  size_t last_back = 0, store = 0;
  for (size_t pc = 0; pc < code.size(); ++pc) {
    const bool back = (code[pc].op == isa::Op::kBr || code[pc].op == isa::Op::kCondBr) &&
                      code[pc].imm <= static_cast<int64_t>(pc);
    const bool back_false = code[pc].op == isa::Op::kCondBr && code[pc].extra <= pc;
    if (back || back_false) last_back = pc;
    if (code[pc].op == isa::Op::kStore) store = pc;
  }
  EXPECT_GT(last_back, 0u);
  EXPECT_GT(store, last_back) << isa::Disassemble(m);
}

TEST(KlangTest, RecursionStaysACallAndTheRestIsInlined) {
  const isa::Module m = Module(
      "DEVICE int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\nDEVICE int twice(int "
      "v) { return 2 * v; }\n"
      "KERNEL k(int* x) { x[TID] = twice(fib(x[TID])); }\n");
  EXPECT_EQ(m.functions.size(), 2u);
  EXPECT_EQ(Count(m, isa::Op::kCall), 3u) << isa::Disassemble(m);
}

TEST(KlangTest, MaybeUninitializedLocalStaysInMemory) {
  const isa::Module bad = Module(
      "KERNEL k(float* x, int n) {\n  float v;\n  if (TID < n) v = x[TID];\n  x[TID] = v;\n}\n");
  ASSERT_EQ(bad.functions[0].locals.size(), 1u) << isa::Disassemble(bad);
  EXPECT_EQ(bad.functions[0].locals[0].name, "v");
  const isa::Module good = Module(
      "KERNEL k(float* x, int n) {\n  float v;\n  if (TID < n) v = x[TID]; else v = 0;\n  x[TID] = "
      "v;\n}\n");
  EXPECT_TRUE(good.functions[0].locals.empty()) << isa::Disassemble(good);
}

TEST(KlangTest, SmallConstantLoopsBecomeRegisters) {
  const isa::Module m = Module(
      "KERNEL k(float* out, const float* in, int n) {\n  float sum[4][4] = {};\n  for (int d = 0; "
      "d "
      "< n; ++d) {\n    float left[4], right[4];\n    for (int e = 0; e < 4; ++e) { left[e] = in[d "
      "* 8 + e]; right[e] = in[d * 8 + 4 + e]; }\n    for (int r = 0; r < 4; ++r)\n      for (int "
      "s "
      "= 0; s < 4; ++s) sum[r][s] += left[r] * right[s];\n  }\n  for (int r = 0; r < 4; ++r)\n    "
      "for (int s = 0; s < 4; ++s) out[r * 4 + s] = sum[r][s];\n}\n");
  EXPECT_TRUE(m.functions[0].locals.empty()) << isa::Disassemble(m);
  EXPECT_EQ(Count(m, isa::Op::kFma), 16u);
}

TEST(KlangTest, UninitializedArrayElementStaysInMemoryAfterUnrolling) {
  const isa::Module m = Module(
      "KERNEL k(float* x) {\n  float v[4];\n  for (int i = 0; i < 3; ++i) v[i] = x[i];\n  for (int "
      "i = 0; i < 4; ++i) x[i] += v[i];\n}\n");
  ASSERT_EQ(m.functions[0].locals.size(), 1u) << isa::Disassemble(m);
  EXPECT_EQ(m.functions[0].locals[0].name, "v");
}

// Each of these is an access that another thread may race with.
TEST(KlangTest, AccessesAreNeitherMergedNorForwarded) {
  const isa::Module m = Module(
      "KERNEL k(float* x) {\n  __attribute__((shared)) static float s[64];\n  s[TID] = 1.0f;\n  "
      "float a = s[TID];\n  float b = s[TID];\n  s[TID] = a;\n  s[TID] = b;\n  x[TID] = "
      "s[TID];\n}\n");
  EXPECT_EQ(Count(m, isa::Op::kLoad), 3u) << isa::Disassemble(m);
  EXPECT_EQ(Count(m, isa::Op::kStore), 4u);
}

// Unrolled, the last store has a constant offset outside of v, and promotion would drop it.
TEST(KlangTest, OverrunOfALocalArrayStaysInMemory) {
  const isa::Module bad = Module(
      "KERNEL k(float* x) {\n  float v[4];\n  for (int i = 0; i < 5; ++i) v[i] = x[i];\n  x[TID] = "
      "v[0] + v[3];\n}\n");
  ASSERT_EQ(bad.functions[0].locals.size(), 1u) << isa::Disassemble(bad);
  EXPECT_EQ(bad.functions[0].locals[0].bytes, 16u);
  const isa::Module good = Module(
      "KERNEL k(float* x) {\n  float v[4];\n  for (int i = 0; i < 5; ++i) {\n    if (i < 4) v[i] = "
      "x[i];\n  }\n  x[TID] = v[0] + v[3];\n}\n");
  EXPECT_TRUE(good.functions[0].locals.empty()) << isa::Disassemble(good);
}

// A local is named by its index in its own function only.
TEST(KlangTest, LocalIsSomewhereInTheStackToACallee) {
  const isa::Module m = Module(
      "DEVICE __attribute__((noinline)) void fill(int* p, int n) { for (int i = 0; i < n; ++i) "
      "p[i] "
      "= i; }\nKERNEL k(int* x, int n) {\n  int v[8];\n  fill(v, n);\n  x[TID] = v[n];\n}\n");
  bool any = false;
  for (const isa::Function& f : m.functions) {
    for (const isa::Constant& c : f.constants) any = any || c.bits == isa::kProvLocalAny;
  }
  EXPECT_TRUE(any) << isa::Disassemble(m);
}

TEST(KlangTest, ReadThatStartsACompareAndSwapLoopIsAtomic) {
  const isa::Module m = Module(
      "extern \"C\" DEVICE unsigned __kuafu_atomic_cas_u32_gpu(unsigned*, unsigned, unsigned);\n"
      "KERNEL k(unsigned* p, unsigned* q) {\n  unsigned old = *p, seen;\n  do {\n    seen = old;\n "
      "   "
      "old = __kuafu_atomic_cas_u32_gpu(p, seen, seen * 2);\n  } while (old != seen);\n  q[TID] = "
      "*p;\n}\n");
  EXPECT_EQ(Count(m, isa::Op::kAtomicLoad), 1u) << isa::Disassemble(m);
  EXPECT_EQ(Count(m, isa::Op::kLoad), 1u) << isa::Disassemble(m);
}

TEST(KlangTest, SignedIndexArithmeticIsChecked) {
  const isa::Module m = Module("KERNEL k(float* x, int a, int b) { x[a * b + (int)TID] = 0; }\n");
  size_t checked = 0;
  for (const isa::Inst& i : m.functions[0].code)
    checked += (i.op == isa::Op::kMul || i.op == isa::Op::kAdd) && i.extra == isa::kCheckOverflow;
  EXPECT_EQ(checked, 2u) << isa::Disassemble(m);
}

TEST(KlangTest, ErrorHasLineAndCaret) {
  const CompileResult result = CompileText("KERNEL k(float* x) {\n  x[0] = missing;\n}\n");
  EXPECT_FALSE(result.ok);
  ASSERT_FALSE(result.diagnostics.empty());
  const Diagnostic& d = result.diagnostics[0];
  EXPECT_EQ(d.severity, Severity::kError);
  EXPECT_EQ(d.file, "t.cu");
  EXPECT_EQ(d.line, 2 + kPrefixLines);
  EXPECT_EQ(d.column, 10u);
  EXPECT_NE(d.message.find("missing"), std::string::npos);
  EXPECT_EQ(d.snippet, "  x[0] = missing;\n         ^");
}

TEST(KlangTest, UnknownDeviceFunctionIsNamedWithItsLine) {
  const CompileResult result =
      CompileText("DEVICE int mystery(int);\nKERNEL k(int* x) {\n  x[0] = mystery(1);\n}\n");
  EXPECT_FALSE(result.ok);
  ASSERT_FALSE(result.diagnostics.empty());
  EXPECT_NE(result.diagnostics[0].message.find("mystery(int)"), std::string::npos);
  EXPECT_EQ(result.diagnostics[0].line, 3 + kPrefixLines);
}

TEST(KlangTest, OtherFilesCannotBeIncluded) {
  for (const char* path : {"/etc/passwd", "../../../etc/passwd", "/usr/include/../../etc/passwd",
                           "/proc/self/environ"}) {
    const CompileResult result = CompileText("#include \"" + std::string(path) + "\"\n");
    EXPECT_FALSE(result.ok) << path;
    ASSERT_FALSE(result.diagnostics.empty());
    EXPECT_NE(result.diagnostics[0].message.find("file not found"), std::string::npos)
        << result.diagnostics[0].message;
  }
}

// Precompiled or parsed, headers must not change what a source means; the wrong one calls host
// functions of the standard library from device code, which clang finds out at the very end.
TEST(KlangTest, PrecompiledHeadersChangeNothing) {
  CompileRequest right, wrong;
  right.source =
      "#include <torch/extension.h>\n#include <vector>\n"
      "__global__ void k(float* x) { x[threadIdx.x] = std::max(expf(x[0]), 0.f); }\n"
      "torch::Tensor f(torch::Tensor x) {\n  std::vector<int> v = {1, 2};\n"
      "  k<<<v[0], 32>>>(x.data_ptr<float>());\n  return x;\n}\n";
  wrong.source =
      "#include <torch/extension.h>\n#include <vector>\n"
      "__global__ void k(int* x) { std::vector<int> v(3); x[0] = v[1]; printf(\"%d\", "
      "atoi(\"1\")); }\n";
  for (const Half half : {Half::kDevice, Half::kHost}) {
    const Result<std::vector<uint8_t>> headers = PrecompileHeaders(half, HeadersFor(right));
    ASSERT_TRUE(headers.ok()) << headers.error().ToString();
    const Result<HalfResult> parsed = CompileHalf(half, right);
    ASSERT_TRUE(parsed.ok() && parsed.value().ok);
    for (int again = 0; again < 2; ++again) {
      const Result<HalfResult> result = CompileHalf(half, right, headers.value());
      ASSERT_TRUE(result.ok() && result.value().ok);
      EXPECT_EQ(result.value().bytes, parsed.value().bytes);
      const Result<HalfResult> a = CompileHalf(half, wrong),
                               b = CompileHalf(half, wrong, headers.value());
      ASSERT_TRUE(a.ok() && b.ok());
      EXPECT_FALSE(b.value().ok);
      ASSERT_EQ(a.value().diagnostics.size(), b.value().diagnostics.size());
      for (size_t i = 0; i < a.value().diagnostics.size(); ++i)
        EXPECT_EQ(a.value().diagnostics[i].ToString(), b.value().diagnostics[i].ToString());
    }
  }
}

// They are kept on disk, while a header may be edited at any time.
TEST(KlangTest, PrecompiledHeadersKnowThatAFileHasChanged) {
  Result<os::TempDir> dir = os::TempDir::Create("headers");
  ASSERT_TRUE(dir.ok());
  ASSERT_TRUE(os::MakeDirs(dir.value().File("kuafu")).ok());
  const std::string prelude = dir.value().File("kuafu/prelude.h");
  HeaderSet set;
  set.torch = false;
  set.include_dir = dir.value().path();
  ASSERT_TRUE(os::WriteFileAtomic(prelude, "inline int one() { return 1; }\n").ok());
  const Result<std::vector<uint8_t>> headers = PrecompileHeaders(Half::kHost, set);
  ASSERT_TRUE(headers.ok()) << headers.error().ToString();
  EXPECT_TRUE(HeadersAreCurrent(Half::kHost, set, headers.value()));
  ASSERT_TRUE(os::WriteFileAtomic(prelude, "inline int one() { return 1; }  // longer\n").ok());
  EXPECT_FALSE(HeadersAreCurrent(Half::kHost, set, headers.value()));
  std::vector<uint8_t> damaged(headers.value().begin(), headers.value().begin() + 100);
  EXPECT_FALSE(HeadersAreCurrent(Half::kHost, set, damaged));
  HeaderSet other = set;
  other.dialect = Dialect::kMusa;
  EXPECT_NE(HeadersName(Half::kHost, set), HeadersName(Half::kHost, other));
}

// Clang's search for a missing header looks up the file that asks for it.
TEST(KlangTest, MissingHeaderWithTheDialectHeadersInFrontIsAMessage) {
  CompileRequest request;
  request.source = "#include \"nope.h\"\n";
  request.host = false;
  const Result<CompileResult> result = Compile(request);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  ASSERT_FALSE(result.value().diagnostics.empty());
  EXPECT_EQ(result.value().diagnostics[0].message, "'nope.h' file not found");
}

// The assembler reads files by itself.
TEST(KlangTest, HostAssemblyHasNoDirectives) {
  CompileRequest request;
  request.include_dir = "/nonexistent";
  for (const char* text :
       {"asm(\".incbin \\\"/etc/passwd\\\"\");\n",
        "void f() { asm volatile(\".include \\\"/x\\\"\"); }\n",
        "void f() { asm volatile(\".macro m a\\n.inc\\\\a \\\"/x\\\"\\n.endm\\nm bin\"); }\n"}) {
    request.source = text;
    const Result<CompileResult> result = Compile(request);
    EXPECT_FALSE(result.ok() && result.value().ok) << text;
  }
  request.source = "void f() { asm volatile(\"pause\" ::: \"memory\"); }\n";
  const Result<CompileResult> result = Compile(request);
  EXPECT_TRUE(result.ok() && result.value().ok);
}

TEST(KlangTest, EmbedAndHasIncludeSeeNoOtherFile) {
  const CompileResult result = CompileText(
      "#if __has_include(\"/etc/passwd\") || __has_include(\"/proc/self/maps\")\n#error visible\n"
      "#endif\nconst char e[] = {\n#embed \"/etc/passwd\"\n};\n");
  ASSERT_FALSE(result.ok);
  for (const Diagnostic& d : result.diagnostics)
    EXPECT_EQ(d.message.find("visible"), std::string::npos) << d.ToString();
}

// With the dialect headers: without them there is no host object, because clang finds no function
// that a stub could launch the kernel by.
TEST(KlangTest, MathematicsHasOverloadsForFloatInTemplates) {
  std::string body;
  for (const char* fn : {"acosh", "asinh",  "atanh", "cbrt", "erf",    "erfc",   "exp2",
                         "expm1", "lgamma", "log1p", "log2", "logb",   "tgamma", "round",
                         "rint",  "trunc",  "exp",   "fabs", "lround", "llrint", "ilogb"})
    body += std::string("  y[0] += ") + fn + "(x[0]);\n";
  for (const char* fn : {"fmax", "fmin", "fdim", "hypot", "remainder", "copysign", "pow"})
    body += std::string("  y[0] += ") + fn + "(x[0], x[1]);\n";
  const CompileResult result = Compile({.source = "#include <cuda_runtime.h>\ntemplate <class T> "
                                                  "__global__ void k(const T* x, T* y) {\n" +
                                                  body +
                                                  "}\ntemplate __global__ void k(const "
                                                  "float*, float*);\n"})
                                   .value();
  EXPECT_TRUE(result.ok) << (result.ok ? "" : result.diagnostics.front().ToString());
}

TEST(KlangTest, CompilingTwiceGivesTheSameBytes) {
  CompileRequest request;
  request.source =
      "__global__ void k(float* x, int n) { for (int i = 0; i < n; ++i) x[i] *= 2; }\n";
  const Result<CompileResult> a = Compile(request), b = Compile(request);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE(a.value().ok && b.value().ok);
  EXPECT_FALSE(a.value().device_module.empty() || a.value().host_library.empty());
  EXPECT_EQ(a.value().device_module, b.value().device_module);
  EXPECT_EQ(a.value().host_library, b.value().host_library);
}

TEST(KlangTest, HostLibraryIsElf) {
  const CompileResult result = CompileText("int Answer() { return 42; }\n", true);
  ASSERT_TRUE(result.ok);
  ASSERT_GT(result.host_library.size(), 64u);
  EXPECT_EQ(std::string(result.host_library.begin() + 1, result.host_library.begin() + 4), "ELF");
}

TEST(KlangTest, RefusesOtherArguments) {
  CompileRequest request;
  request.extra_args = {"-fplugin=x.so"};
  EXPECT_FALSE(Compile(request).ok());
}

TEST(KlangTest, EntryIsFoundByItsType) {
  EXPECT_EQ(FindEntry("static torch::Tensor helper(torch::Tensor x) { return x; }\ntorch::Tensor "
                      "f(torch::Tensor x) { return x; }\n"),
            "f");
  EXPECT_EQ(
      FindEntry("std::vector<torch::Tensor> g(int n) { if (n) {} return {}; }\nvoid h() {}\n"),
      "g");
  EXPECT_EQ(
      FindEntry("// kuafu: args=x entry=chosen\ntorch::Tensor f(torch::Tensor x) { return x; }\n"),
      "chosen");
  EXPECT_EQ(FindEntry("torch::Tensor a(int x) {}\ntorch::Tensor b() {}\nPYBIND11_MODULE(n, m) { "
                      "m.def(\"forward\", &a, \"x\"); }\n"),
            "a");
  EXPECT_EQ(FindEntry("// torch::Tensor no(int x) {\nconst char* s = \"torch::Tensor no() "
                      "{\";\n__global__ void k() {}\n"),
            "");
}

}  // namespace
}  // namespace kuafu::klang
