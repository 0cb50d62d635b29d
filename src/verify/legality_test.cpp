// SPDX-License-Identifier: Apache-2.0
// Goal: C++ that a launcher of kernels has no use for is named with its line, whatever hides it,
// and the same words in comments, strings and names of one's own are not. Method: small sources
// with the one code that they must give; libraries damaged byte by byte.
#include "verify/legality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "os/file.h"

namespace kuafu::verify {
namespace {

const Policy& Default() {
  static const Policy* policy = [] {
    Result<Policy> loaded = LoadPolicy("default");
    EXPECT_TRUE(loaded.ok()) << loaded.error().ToString();
    return new Policy(std::move(loaded).value());
  }();
  return *policy;
}

std::string Codes(std::string_view source) {
  std::string all;
  for (const LegalityFinding& f : CheckSource(source, Default())) {
    if (!f.reject) continue;
    if (!all.empty()) all += ' ';
    all += f.code + ":" + std::to_string(f.line);
  }
  return all;
}

TEST(Legality, EachForbiddenThingHasItsCodeAndLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"void f() {\n  system(\"ls\"); }", "forbidden_host_call:2"},
      {"void f() { std::system(\"ls\"); }", "forbidden_host_call:1"},
      {"void f() { ::open(\"/proc/self/maps\", 0); }", "forbidden_host_call:1"},
      {"void f() { if (fork() == 0) return; }", "forbidden_host_call:1"},
      {"auto p = dlsym(nullptr, \"x\");", "forbidden_host_call:1"},
      {"std::ifstream in(\"/proc/self/mem\");", "forbidden_host_call:1"},
      {"void f() { std::thread t([] {}); }", "thread_injection:1"},
      {"#include <thread>\n", "thread_injection:1"},
      {"#include <sys/mman.h>\n", "forbidden_host_call:1"},
      {"#include \"/etc/passwd\"\n", "forbidden_include:1"},
      {"#define H </etc/passwd>\n#include H\n", "forbidden_include:2"},
      {"#include <cublas_v2.h>\n", "library_header:1"},
      {"#include <thrust/sort.h>\n", "library_header:1"},
      {"void f(cublasHandle_t h) { cublasSgemm(h); }", "library_call:1"},
      {"torch::Tensor f(torch::Tensor a) { return at::matmul(a, a); }", "library_call:1"},
      {"torch::Tensor f(torch::Tensor a) { return torch::relu(a); }", "library_call:1"},
      {"torch::Tensor f(torch::Tensor a) { return a.matmul(a); }", "library_call:1"},
      {"m.def(\"mm\", &at::mm);", "library_call:1"},
      {"void f() { at::native::foo(); }", "library_call:1"},
      {"void f() { cub::DeviceReduce::Sum(); }", "library_call:1"},
      {"void f() { asm volatile(\"syscall\"); }", "host_assembly:1"},
      {"void f() { py::module_::import(\"os\"); }", "embedded_python:1"},
      {"void f() { PyRun_SimpleString(\"1\"); }", "embedded_python:1"},
      {"__attribute__((constructor)) void f() {}", "forbidden_host_call:1"},
      {"static std::unordered_map<void*, torch::Tensor> cache;", "pointer_cache:1"},
      {"void f() { cudaGraphLaunch(g, s); }", "cuda_graph:1"},
      {"void f() { cudaEventElapsedTime(&t, a, b); }", "harness_access:1"},
  };
  for (const auto& [source, want] : cases) EXPECT_EQ(Codes(source), want) << source;
}

TEST(Legality, HidingDoesNotHelp) {
  const std::pair<const char*, const char*> cases[] = {
      {"void f() { sys\\\ntem(\"ls\"); }", "forbidden_host_call:1"},
      {"void f() { system /* x */ (\"ls\"); }", "forbidden_host_call:1"},
      {"#define RUN system\nvoid f() { RUN(\"ls\"); }", "forbidden_host_call:1"},
      {"#define G at::matmul(a, b)\n", "library_call:1"},
      {"#define F fo##rk\n", "token_paste_api:1"},
      {"#define CAT(a, b) a##b\nvoid f() { CAT(sys, tem)(\"ls\"); }", "token_paste_api:2"},
      {"#define C2(a, b) a##b\n#define CAT(a, b) C2(a, b)\nauto p = CAT(dl, sym)(0, \"\");",
       "token_paste_api:3"},
      {"#define CALL(x) cuda##x\nvoid f() { CALL(GraphLaunch)(g, s); }", "token_paste_api:2"},
      {"#define A(a, b, c) a##b##c\nvoid f() { A(cu, blas, Sgemm)(h); }", "token_paste_api:2"},
      {"%:include <dlfcn.h>\n", "forbidden_host_call:1"},
      {"int system(const char*);\n", "forbidden_host_call:1"},
      {"__global__ void k() {}\nvoid f() { asm(\"nop\"); }", "host_assembly:2"},
  };
  for (const auto& [source, want] : cases) EXPECT_EQ(Codes(source), want) << source;
}

TEST(Legality, HonestWordsPass) {
  const char* sources[] = {
      "// system(\"ls\"); fork(); at::matmul\n/* cublasSgemm( */ int x;",
      "const char* s = \"fork() system(1) <thread>\"; auto r = R\"(dlopen(1))\";",
      "int system = 1; int open = system + 2; f(system, open);",
      "__device__ float read(const float* p, int i) { return p[i]; }\n"
      "__global__ void k(float* p) { p[0] = read(p, 1); }",
      "template <typename T> __device__ void write(T* p, T v) { *p = v; }\n"
      "__global__ void k(float* p) { write(p, 1.f); }",
      "__global__ void k(int* p) { asm volatile(\"mov.u32 %0, %laneid;\" : \"=r\"(p[0])); }",
      "#define LDMATRIX(x) asm volatile(\"ldmatrix\" : : \"r\"(x))\n",
      "#define CHECK(e) do { if (e) { fprintf(stderr, \"%d\", e); exit(1); } } while (0)\n",
      "#define CAT(a, b) a##b\nint CAT(row, _count) = 1;\n",
      "struct Softmax { float softmax(float a) { return a; } };\nvoid f(Softmax s) { s.softmax(1); "
      "}",
      "auto o = torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCUDA, 0);\n"
      "auto y = torch::empty({1}, o); auto z = at::zeros_like(y); torch::Tensor w = y.view({-1});",
      "auto s = at::cuda::getCurrentCUDAStream(); c10::cuda::CUDAGuard g(0);",
      "#include <torch/extension.h>\n#include <cuda_runtime.h>\n#include <vector>\n"
      "#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDAGuard.h>\n#include \"mine.h\"\n",
      "std::unordered_map<int, torch::Tensor> by_size;",
      "static torch::Tensor workspace;",
      "void f(std::vector<int64_t> s) { std::sort(s.begin(), s.end()); s.erase(s.begin()); }",
      "cudaDeviceSynchronize(); cudaEventCreate(&e); cudaStreamCreate(&s);",
      "#include <cuda_of_tomorrow.h>\n",
      "using namespace torch::indexing; m.def(\"f\", torch::wrap_pybind_function(f));",
      "using scalar = float; const float cubic = 1; float cudnnlike = cubic;",
  };
  for (const char* source : sources) EXPECT_EQ(Codes(source), "") << source;
}

TEST(Legality, AnyBytesEnd) {
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes.push_back(static_cast<char>(i * 37 + i / 256));
  CheckSource(bytes, Default());
  CheckSource(std::string(200000, '#'), Default());
  CheckSource("#define A(x) x##x\n" + std::string(100000, 'A') + "(", Default());
  std::string calls = "#define A(a,b,c,d,e,f) a##b\n";
  for (int i = 0; i < 20000; ++i) calls += "A(u,v,w,x,y,z) ";
  CheckSource(calls, Default());
  CheckSource("#define", Default());
  CheckSource("#include", Default());
}

TEST(Legality, ImportsOfALibraryAreNamedAndHostileFilesAreNoCrash) {
  const std::string self = os::ReadFile("/proc/self/exe", 1 << 28).value();
  const auto check = [](std::string_view elf) {
    return CheckImports({reinterpret_cast<const uint8_t*>(elf.data()), elf.size()}, Default());
  };
  const auto found = check(self);
  ASSERT_TRUE(found.ok()) << found.error().ToString();
  const auto names = [&](const char* code, const char* name) {
    return std::any_of(found.value().begin(), found.value().end(), [&](const auto& f) {
      return f.code == code && f.message.find(name) != std::string::npos;
    });
  };
  // This program, for one, opens and writes files; memcpy is everybody's.
  EXPECT_TRUE(names("forbidden_host_call", "open")) << found.value().size();
  EXPECT_FALSE(names("forbidden_symbol", "memcpy"));
  for (size_t length : {0, 3, 63, 64, 1000, 5000})
    EXPECT_FALSE(check(std::string_view(self).substr(0, length)).ok()) << length;
  // The headers, wherever they are: every byte of the file's and of the sections' turned around.
  std::string bytes = self;
  uint64_t sections_at = 0;
  std::memcpy(&sections_at, bytes.data() + 40, sizeof(sections_at));
  const auto flip_each = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < std::min(end, bytes.size()); ++i) {
      for (const char with : {'\xff', '\x80', '\x01'}) {
        bytes[i] = static_cast<char>(bytes[i] ^ with);
        check(bytes).ok();
        bytes[i] = static_cast<char>(bytes[i] ^ with);
      }
    }
  };
  flip_each(0, 64);
  flip_each(sections_at, sections_at + size_t{64} * 8);
}

TEST(Legality, PoliciesDifferAndMistakesAreRefused) {
  Result<Policy> strict = LoadPolicy("strict");
  ASSERT_TRUE(strict.ok()) << strict.error().ToString();
  EXPECT_EQ(strict.value().Find("side_stream")->severity, Rule::Severity::kReject);
  EXPECT_EQ(Default().Find("side_stream")->severity, Rule::Severity::kWarn);
  Result<Policy> lenient = LoadPolicy("lenient");
  ASSERT_TRUE(lenient.ok()) << lenient.error().ToString();
  const auto has = [](const Policy& p, const char* op) {
    const Json& list = p.json["aten"]["forward"];
    return std::find(list.begin(), list.end(), op) != list.end();
  };
  EXPECT_TRUE(has(lenient.value(), "randn"));
  EXPECT_FALSE(has(Default(), "randn"));
  EXPECT_FALSE(has(strict.value(), "ones"));
  EXPECT_FALSE(LoadPolicy("none").ok());
  os::TempDir dir = os::TempDir::Create("policy").value();
  const std::string path = os::JoinPath(dir.path(), "mine.json");
  ASSERT_TRUE(os::WriteFileAtomic(path, R"({"extends": "default", "name": "mine",
    "cpp": {"names_denied": {"fork": "no_such_rule"}}})")
                  .ok());
  EXPECT_FALSE(LoadPolicy(path).ok());
  ASSERT_TRUE(os::WriteFileAtomic(path, "{\"extends\": \"" + path + "\"}").ok());
  EXPECT_FALSE(LoadPolicy(path).ok());
}

}  // namespace
}  // namespace kuafu::verify
