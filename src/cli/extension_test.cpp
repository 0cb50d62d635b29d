// SPDX-License-Identifier: Apache-2.0
// Extensions from source to call: the corpus compiles, every kind of parameter and result crosses
// between the process and a function, and what a person would call a link error is one. Method: a
// pool with the real compiler; shared objects are loaded here, with a module that notes what
// kuafu_extension defines. Nothing here launches a kernel.
//
//   cli_extension_test COMPILER CORPUS
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "base/text.h"
#include "device/profile.h"
#include "hostabi/session.h"
#include "kuafu/tensor_abi.h"
#include "os/file.h"
#include "verify/compile_pool.h"

struct Defined {
  KuafuInvoker invoke = nullptr;
  void* function = nullptr;
  std::vector<KuafuParameter> parameters;
};
struct KuafuModule {
  std::map<std::string, std::vector<Defined>> functions;
  std::deque<std::string> texts;              // of names and of defaults that are strings
  std::deque<std::vector<int64_t>> integers;  // of defaults that are lists
};

extern "C" __attribute__((visibility("default"))) void kuafu_module_def(
    KuafuModule* module, const char* name, KuafuInvoker invoke, void* function,
    int32_t parameter_count, const KuafuParameter* parameters) {
  Defined defined{invoke, function, {parameters, parameters + parameter_count}};
  for (KuafuParameter& p : defined.parameters) {
    if (p.name != nullptr) p.name = module->texts.emplace_back(p.name).c_str();
    if (p.value.kind == KUAFU_STRING)
      p.value.string = module->texts.emplace_back(p.value.string).c_str();
    if (p.value.kind == KUAFU_INT_LIST) {
      p.value.integers =
          module->integers.emplace_back(p.value.integers, p.value.integers + p.value.count).data();
    }
  }
  module->functions[name].push_back(defined);
}

namespace kuafu::verify {
namespace {

std::string g_compiler, g_corpus;

std::unique_ptr<CompilePool> StartPool() {
  Result<std::unique_ptr<CompilePool>> pool = CompilePool::Start(g_compiler, 1, 4);
  EXPECT_TRUE(pool.ok()) << pool.error().ToString();
  return std::move(pool).value();
}
CompilePool& Pool() {
  static const std::unique_ptr<CompilePool> pool = StartPool();
  return *pool;
}

// Files of one extension have the same name up to the first dot.
std::map<std::string, ExtensionJob> Corpus() {
  std::map<std::string, ExtensionJob> jobs;
  std::vector<std::string> files = os::ListDir(g_corpus).value();
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    ExtensionJob& job = jobs[file.substr(0, file.find('.'))];
    job.musa = job.musa || EndsWith(file, ".mu");
    if (job.musa) job.arch = 220;
    job.units.push_back({file, os::ReadFile(os::JoinPath(g_corpus, file), 1 << 20).value(),
                         !EndsWith(file, ".cpp")});
  }
  return jobs;
}

CompiledExtension Compile(const ExtensionJob& job) {
  Result<CompiledExtension> compiled = Pool().CompileExtension(job);
  EXPECT_TRUE(compiled.ok()) << compiled.error().ToString();
  return compiled.ok() ? std::move(compiled).value() : CompiledExtension{};
}
std::string Message(const std::vector<ExtensionUnit>& units,
                    const std::vector<std::string>& defines = {}) {
  const CompiledExtension compiled = Compile({.units = units, .defines = defines});
  EXPECT_EQ(compiled.ok, compiled.message.empty());
  return compiled.message;
}

// The descriptor stays open: the loader takes two files of the same name for the same.
void* Load(const CompiledExtension& compiled) {
  const int fd = dup(compiled.shared_object->get());
  void* library = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}

// A loaded extension; its functions take and return values.
class Loaded {
 public:
  explicit Loaded(const std::string& name) {
    const CompiledExtension compiled = Compile(Corpus().at(name));
    EXPECT_TRUE(compiled.ok) << compiled.message;
    if (!compiled.ok) return;
    library_ = Load(compiled);
    if (library_ == nullptr) return;
    auto* define = reinterpret_cast<void (*)(KuafuModule*)>(dlsym(library_, "kuafu_extension"));
    EXPECT_NE(define, nullptr);
    if (define != nullptr) define(&module);
  }

  // What is missing at the end comes from the defaults.
  bool Call(const std::string& name, std::vector<KuafuValue> values, size_t overload = 0) {
    const auto at = module.functions.find(name);
    if (at == module.functions.end() || at->second.size() <= overload) return false;
    const Defined& f = at->second[overload];
    for (size_t i = values.size(); i < f.parameters.size(); ++i) {
      if (f.parameters[i].has_default != 0) values.push_back(f.parameters[i].value);
    }
    for (KuafuValue& v : results) {
      if (v.kind == KUAFU_TENSOR) kuafu_tensor_release(v.tensor);
    }
    char text[300] = {};
    KuafuCall call{};
    results.assign(64, {});
    call.size = sizeof call;
    call.argument_count = static_cast<int32_t>(values.size());
    call.arguments = values.data();
    call.result_capacity = static_cast<int32_t>(results.size());
    call.values = results.data();
    call.error = text;
    call.error_capacity = sizeof text;
    f.invoke(f.function, &call);
    results.resize(static_cast<size_t>(call.result_count));
    form = call.result_form;
    status = call.status;
    error = text;
    return status == KUAFU_CALL_OK;
  }
  int64_t Integer(const std::string& name, std::vector<KuafuValue> values) {
    EXPECT_TRUE(Call(name, std::move(values))) << name << ": " << error;
    return results.size() == 1 ? results[0].integer : -1;
  }
  double Real(const std::string& name, std::vector<KuafuValue> values) {
    EXPECT_TRUE(Call(name, std::move(values))) << name << ": " << error;
    return results.size() == 1 ? results[0].real : -1;
  }

  KuafuModule module;
  std::vector<KuafuValue> results;
  int32_t form = 0, status = 0;
  std::string error;

 private:
  void* library_ = nullptr;  // stays loaded
};

class Extension : public ::testing::Test {
 protected:
  Extension()
      : session_({.profile = device::FindProfile("h100"), .memory_bytes = size_t{1} << 24}) {
    hostabi::SetCurrent(&session_);
  }
  KuafuTensor* New(std::vector<int64_t> sizes) {
    return kuafu_tensor_new(static_cast<int32_t>(sizes.size()), sizes.data(), nullptr,
                            KUAFU_FLOAT32, KUAFU_TENSOR_ZERO);
  }
  static KuafuValue None() { return {}; }
  static KuafuValue Int(int64_t v) {
    return With(KUAFU_INT, 0, [&](auto& o) { o.integer = v; });
  }
  static KuafuValue Bool(bool v) {
    return With(KUAFU_BOOLEAN, 0, [&](auto& o) { o.integer = v; });
  }
  static KuafuValue Real(double v) {
    return With(KUAFU_REAL, 0, [&](auto& o) { o.real = v; });
  }
  static KuafuValue Tensor(KuafuTensor* v) {
    return With(KUAFU_TENSOR, 0, [&](auto& o) { o.tensor = v; });
  }
  static KuafuValue Text(const char* v) {
    return With(KUAFU_STRING, std::strlen(v), [&](auto& o) { o.string = v; });
  }
  static KuafuValue Ints(const std::vector<int64_t>& v) {
    return With(KUAFU_INT_LIST, v.size(), [&](auto& o) { o.integers = v.data(); });
  }
  static KuafuValue Reals(const std::vector<double>& v) {
    return With(KUAFU_REAL_LIST, v.size(), [&](auto& o) { o.reals = v.data(); });
  }
  static KuafuValue Tensors(const std::vector<KuafuTensor*>& v) {
    return With(KUAFU_TENSOR_LIST, v.size(), [&](auto& o) { o.tensors = v.data(); });
  }
  hostabi::Session session_;

 private:
  template <class F>
  static KuafuValue With(int32_t kind, size_t count, F set) {
    KuafuValue value{};
    value.kind = kind;
    value.count = static_cast<int32_t>(count);
    set(value);
    return value;
  }
};

TEST_F(Extension, CorpusCompilesAndLoads) {
  const std::map<std::string, ExtensionJob> corpus = Corpus();
  EXPECT_GE(corpus.size(), 25u);
  for (const auto& [name, job] : corpus) {
    const CompiledExtension compiled = Compile(job);
    ASSERT_TRUE(compiled.ok) << name << ": " << compiled.message;
    ASSERT_EQ(compiled.modules.size(), job.units.size());
    for (size_t i = 0; i < job.units.size(); ++i)
      EXPECT_EQ(compiled.modules[i] != nullptr, job.units[i].device) << name;
    void* library = Load(compiled);
    ASSERT_NE(library, nullptr) << name;
    const auto* count = static_cast<const int64_t*>(dlsym(library, "kuafu_unit_count"));
    const auto* rows = static_cast<const int64_t*>(dlsym(library, "kuafu_units"));
    ASSERT_TRUE(count != nullptr && rows != nullptr) << name;
    ASSERT_EQ(*count, static_cast<int64_t>(job.units.size()));
    for (int64_t i = 0; i < *count; ++i) {
      EXPECT_EQ(rows[5 * i], i) << name;
      EXPECT_TRUE(job.units[static_cast<size_t>(i)].device || rows[5 * i + 2] == 0) << name;
    }
  }
}

TEST_F(Extension, EveryKindOfParameterArrives) {
  Loaded e("parameters");
  KuafuTensor *one = New({1}), *two = New({2}), *three = New({3});
  EXPECT_EQ(e.Integer("of_tensors", {Tensor(one), Tensor(two), Tensor(three)}), 321);
  EXPECT_EQ(e.Integer("of_optional", {}), 50);
  EXPECT_EQ(e.Integer("of_optional", {Tensor(one), None(), Int(3), None()}), 13);
  EXPECT_EQ(e.Real("of_numbers", {Int(1)}), 1 + 20 + 300 + 0.25 + 0.5);
  EXPECT_EQ(e.Real("of_numbers", {Int(1), Int(0), Int(0), Int(2), Real(0.5), Bool(true)}), 1003.5);
  EXPECT_EQ(e.Integer("of_strings", {}), 13);
  EXPECT_EQ(e.Integer("of_strings", {Text("x"), Text("axb")}), 101);
  const std::vector<int64_t> ints = {1, 2};
  const std::vector<double> reals = {0.5, 1};
  EXPECT_EQ(e.Real("of_lists", {Ints(ints), Ints(ints), Reals(reals), Ints(ints)}), 3183);
  EXPECT_EQ(e.Real("of_lists", {Ints({}), Reals({}), Tensors({}), Ints({})}), 0);
  const std::vector<KuafuTensor*> tensors = {two, three};
  EXPECT_EQ(e.Integer("of_refs", {Ints(ints), Tensors(tensors), Tensors(tensors)}), 253);
  EXPECT_EQ(e.Integer("of_tensor_list", {Tensors(tensors), Tensors(tensors)}), 205);
  const std::vector<int64_t> three_ints = {1, 2, 3};
  EXPECT_EQ(e.Integer("of_tuples", {Ints(ints), Ints(three_ints), Reals(reals)}), 621);
  EXPECT_EQ(e.Integer("of_type", {}), 6 + 200 + 2000);
  EXPECT_EQ(e.Integer("of_type", {Int(5), Real(1), None(), Text("n")}), 10105);
  EXPECT_EQ(e.Integer("of_chars", {}), 1103);
  EXPECT_EQ(e.Integer("inner.of_chars", {Text("mean"), Text("cpu"), Text("cuda")}), 14);
  EXPECT_TRUE(e.Call("inner.deep.nothing", {}));
  EXPECT_TRUE(e.Call("nothing", {}));
  EXPECT_EQ(e.form, KUAFU_RESULT_NONE);
  for (KuafuTensor* t : {one, two, three}) kuafu_tensor_release(t);
}

TEST_F(Extension, WrongArgumentsAreAMismatchAndNoCall) {
  Loaded e("parameters");
  KuafuTensor* x = New({1});
  const std::vector<int64_t> two = {1, 2};
  const auto mismatch = [&](const char* name, std::vector<KuafuValue> values, const char* text) {
    EXPECT_FALSE(e.Call(name, std::move(values)));
    EXPECT_EQ(e.status, KUAFU_CALL_MISMATCH) << name;
    EXPECT_NE(e.error.find(text), std::string::npos) << e.error;
  };
  mismatch("of_tensors", {Tensor(x), Tensor(x)}, "3 parameters but 2");
  mismatch("of_tensors", {Tensor(x), None(), Tensor(x)}, "wants a tensor but none");
  mismatch("of_numbers", {Real(1)}, "wants an integer but a real number");
  mismatch("of_numbers", {Int(1), Int(1), Int(1), Text("1")}, "wants a real number but a string");
  mismatch("of_strings", {Int(1)}, "wants a string");
  mismatch("of_tuples", {Ints(two), Ints(two), Ints(two)}, "wants 3 elements but 2");
  mismatch("of_tensor_list", {Ints(two), Tensors({})}, "wants a list of tensors");
  kuafu_tensor_release(x);
}

TEST_F(Extension, EveryKindOfResultComesBack) {
  Loaded e("results");
  KuafuTensor* x = New({2, 2});
  const auto call = [&](const char* name, int32_t form, const std::vector<int32_t>& kinds) {
    ASSERT_TRUE(e.Call(name, {Tensor(x)})) << name << ": " << e.error;
    EXPECT_EQ(e.form, form) << name;
    std::vector<int32_t> got;
    for (const KuafuValue& v : e.results) got.push_back(v.kind);
    EXPECT_EQ(got, kinds) << name;
  };
  call("one", KUAFU_RESULT_SINGLE, {KUAFU_TENSOR});
  EXPECT_EQ(kuafu_tensor_ndim(e.results[0].tensor), 1);
  call("list", KUAFU_RESULT_LIST, {KUAFU_TENSOR, KUAFU_TENSOR, KUAFU_NONE});
  call("two", KUAFU_RESULT_TUPLE, {KUAFU_TENSOR, KUAFU_TENSOR});
  call("mixed", KUAFU_RESULT_TUPLE, {KUAFU_TENSOR, KUAFU_INT, KUAFU_REAL, KUAFU_BOOLEAN});
  EXPECT_EQ(e.results[1].integer, 4);
  EXPECT_EQ(e.results[2].real, 0.5);
  call("pair", KUAFU_RESULT_TUPLE, {KUAFU_TENSOR, KUAFU_INT});
  call("maybe", KUAFU_RESULT_SINGLE, {KUAFU_TENSOR});
  call("real", KUAFU_RESULT_SINGLE, {KUAFU_REAL});
  EXPECT_EQ(e.results[0].real, 2);
  call("single", KUAFU_RESULT_SINGLE, {KUAFU_REAL});
  call("integer", KUAFU_RESULT_SINGLE, {KUAFU_INT});
  call("small", KUAFU_RESULT_SINGLE, {KUAFU_INT});
  call("boolean", KUAFU_RESULT_SINGLE, {KUAFU_BOOLEAN});
  call("scalar", KUAFU_RESULT_SINGLE, {KUAFU_INT});
  call("sizes", KUAFU_RESULT_LIST, {KUAFU_INT, KUAFU_INT});
  call("undefined", KUAFU_RESULT_SINGLE, {KUAFU_NONE});
  call("none", KUAFU_RESULT_NONE, {});
  EXPECT_FALSE(e.Call("throws", {Tensor(x)}));
  EXPECT_EQ(e.status, KUAFU_CALL_THREW);
  EXPECT_NE(e.error.find("expected 7 dimensions, got 2"), std::string::npos) << e.error;
  kuafu_tensor_release(x);
}

TEST_F(Extension, FunctionsHaveNamesDefaultsAndOverloads) {
  Loaded e("many_functions");
  ASSERT_EQ(e.module.functions["scale"].size(), 2u);
  const Defined& scale = e.module.functions["scale"][0];
  ASSERT_EQ(scale.parameters.size(), 2u);
  EXPECT_STREQ(scale.parameters[0].name, "x");
  EXPECT_EQ(scale.parameters[0].has_default, 0);
  EXPECT_STREQ(scale.parameters[1].name, "by");
  EXPECT_EQ(scale.parameters[1].value.real, 2.0);
  EXPECT_EQ(e.module.functions["count"][0].parameters[0].name, nullptr);
  EXPECT_EQ(e.Integer("twice", {Int(21)}), 42);
  EXPECT_EQ(e.module.functions.size(), 7u);
}

TEST_F(Extension, TensorFunctionsWork) {
  KuafuTensor* x = New({2, 3, 4});
  Loaded views("views");
  ASSERT_TRUE(views.Call("views", {Tensor(x)})) << views.error;
  EXPECT_EQ(views.results.size(), 25u);
  const auto sizes = [&](size_t i) {
    const KuafuTensor* t = views.results[i].tensor;
    return std::vector<int64_t>(kuafu_tensor_sizes(t),
                                kuafu_tensor_sizes(t) + kuafu_tensor_ndim(t));
  };
  EXPECT_EQ(sizes(9), (std::vector<int64_t>{2, 3, 2}));
  EXPECT_EQ(sizes(12), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(sizes(13), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(sizes(14), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(sizes(15), (std::vector<int64_t>{2, 3, 2}));
  ASSERT_TRUE(views.Call("views", {Tensor(x)}));
  EXPECT_EQ(*static_cast<const float*>(kuafu_tensor_data(views.results[24].tensor)), 7);
  Loaded creation("creation");
  ASSERT_TRUE(creation.Call("create", {Tensor(x), Int(5)})) << creation.error;
  ASSERT_EQ(creation.results.size(), 21u);
  const KuafuTensor* range = creation.results[13].tensor;
  EXPECT_EQ(kuafu_tensor_numel(range), 3);
  EXPECT_EQ(kuafu_tensor_dtype(range), KUAFU_INT64);
  EXPECT_EQ(static_cast<const int64_t*>(kuafu_tensor_data(range))[2], 4);
  EXPECT_EQ(static_cast<const float*>(kuafu_tensor_data(creation.results[14].tensor))[1], 2);
  kuafu_tensor_release(x);
}

TEST_F(Extension, WhatIsCreatedWithoutADeviceIsOnTheHost) {
  Loaded e("places");
  KuafuTensor* x = New({4});
  EXPECT_EQ(e.Integer("places", {Tensor(x)}), 0b111111111111000000000);
  static_cast<float*>(kuafu_tensor_data(x))[1] = 8;
  EXPECT_EQ(e.Real("table", {Tensor(x)}), 1.5 + 8 + 0.5);
  EXPECT_FALSE(e.Call("reads_gpu", {Tensor(x)}));
  EXPECT_NE(e.error.find("cannot reach the elements of a tensor on the GPU"), std::string::npos)
      << e.error;
  ASSERT_TRUE(e.Call("stays", {}));
  EXPECT_EQ(kuafu_tensor_is_cuda(e.results[0].tensor), 0);
  kuafu_tensor_release(x);
}

TEST_F(Extension, KernelsOfALibraryEndTheCallByName) {
  Loaded e("ready_kernels");
  KuafuTensor* x = New({4});
  for (const auto& [name, error] : {std::pair{"cub_sum", "cub::DeviceReduce::Sum"},
                                    {"cub_scan", "cub::DeviceScan::InclusiveSum"},
                                    {"thrust_sum", "thrust::reduce"},
                                    {"thrust_sort", "thrust::sort"},
                                    {"thrust_vector", "thrust::device_vector"}}) {
    EXPECT_FALSE(e.Call(name, {Tensor(x)})) << name;
    EXPECT_EQ(e.error, std::string("library call: ") + error);
  }
  kuafu_tensor_release(x);
}

TEST_F(Extension, LibraryOperatorsEndTheCallByName) {
  Loaded e("library_calls");
  KuafuTensor* x = New({4, 4});
  for (const auto& [name, overloads] : e.module.functions) {
    EXPECT_FALSE(e.Call(name, {Tensor(x)})) << name;
    EXPECT_EQ(e.status, KUAFU_CALL_THREW) << name;
    EXPECT_TRUE(StartsWith(e.error, "library call: ")) << name << ": " << e.error;
  }
  EXPECT_GE(e.module.functions.size(), 70u);
  e.Call("conv2d", {Tensor(x)});
  EXPECT_EQ(e.error, "library call: at::conv2d");
  e.Call("plus", {Tensor(x)});
  EXPECT_EQ(e.error, "library call: at::add");
  e.Call("functional_relu", {Tensor(x)});
  EXPECT_EQ(e.error, "library call: torch::nn::functional::relu");
  kuafu_tensor_release(x);
}

const char kMain[] =
    "#include <torch/extension.h>\ntorch::Tensor forward_cuda(torch::Tensor x);\n"
    "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"forward\", &forward_cuda); }\n";
const char kForward[] =
    "#include <torch/types.h>\n__global__ void k(float* x) { x[threadIdx.x] = 1; }\n"
    "torch::Tensor forward_cuda(torch::Tensor x) { k<<<1, 1>>>(x.data_ptr<float>()); return x; }\n";

TEST_F(Extension, UndefinedSymbolIsACompileErrorThatNamesIt) {
  EXPECT_EQ(Message({{"main.cpp", kMain, false}, {"cuda.cu", kForward}}), "");
  const std::string message = Message({{"main.cpp", kMain, false}, {"cuda.cu", "int a;\n"}});
  EXPECT_EQ(message, "main.cpp: error: undefined symbol: forward_cuda(at::Tensor)");
  const std::string c =
      "extern \"C\" int cudaDoWhatIMean(int);\nint b() { return cudaDoWhatIMean(1); }\n";
  EXPECT_EQ(Message({{"main.cpp", c, false}}),
            "main.cpp: error: undefined symbol: cudaDoWhatIMean");
}

TEST_F(Extension, DefinitionTwiceIsACompileErrorThatNamesIt) {
  const std::string message =
      Message({{"main.cpp", std::string(kMain) + "int twice() { return 1; }\n", false},
               {"cuda.cu", std::string(kForward) + "int twice() { return 2; }\n"}});
  EXPECT_NE(message.find("duplicate symbol: twice()"), std::string::npos) << message;
  EXPECT_NE(message.find("cuda.cu"), std::string::npos) << message;
}

TEST_F(Extension, PlainCppKnowsNoKernels) {
  const std::string message = Message({{"main.cpp", kForward, false}});
  EXPECT_NE(message.find("main.cpp:2:1: error: unknown type name '__global__'"), std::string::npos)
      << message;
}

TEST_F(Extension, DefinesReachTheSourceAndNothingElseDoes) {
  const std::string source =
      "#if A != 1 || B != 7\n#error not defined\n#endif\nint a = A, b = B;\n";
  EXPECT_EQ(Message({{"main.cpp", source, false}}, {"A", "B=7"}), "");
  EXPECT_EQ(Message({{"cuda.cu", source}}, {"A=1", "B=(3 + 4)"}), "");
  EXPECT_NE(Message({{"main.cpp", source, false}}, {"A"}).find("main.cpp:2:2: error: not defined"),
            std::string::npos);
  for (const char* bad : {"", "1A", "A B", "-fplugin=x.so", "A\n#include </etc/passwd>", "A=1\n#x",
                          "A(x)=x", "=1", "A=\\"}) {
    EXPECT_NE(Message({{"main.cpp", "int a;\n", false}}, {bad}).find("macro definition"),
              std::string::npos)
        << bad;
  }
}

TEST_F(Extension, TorchLibraryIsRefusedByName) {
  const std::string message =
      Message({{"main.cpp",
                "#include <torch/library.h>\nTORCH_LIBRARY(mine, m) { m.def(\"f\"); }\n", false}});
  EXPECT_NE(message.find("kuafu: TORCH_LIBRARY is not available"), std::string::npos) << message;
}

TEST_F(Extension, WhatIsCompiledOnceIsKept) {
  const ExtensionJob job{.units = {{"main.cpp", kMain, false}, {"kept.cu", kForward}}};
  const CompiledExtension first = Compile(job), second = Compile(job);
  EXPECT_GT(first.ms, 0);
  EXPECT_EQ(second.ms, 0);
  EXPECT_EQ(first.shared_object, second.shared_object);
  ExtensionJob other = job;
  other.defines = {"X"};
  EXPECT_GT(Compile(other).ms, 0);
}

TEST_F(Extension, HostileUnitsCostThemselvesOnly) {
  const std::string bangs(300'000, '!');
  const CompiledExtension crash =
      Compile({.units = {{"main.cpp", kMain, false}, {"cuda.cu", bangs}}});
  EXPECT_FALSE(crash.ok);
  EXPECT_FALSE(crash.message.empty());
  const std::string endless =
      "template <int N> struct T { static constexpr int v = T<N + 1>::v; };\nint x = T<0>::v;\n";
  EXPECT_NE(Message({{"cuda.cu", endless}}).find("error"), std::string::npos);
  EXPECT_NE(Message({}).find("1 to 15"), std::string::npos);
  EXPECT_NE(Message(std::vector<ExtensionUnit>(16, {"a.cpp", "", false})).find("1 to 15"),
            std::string::npos);
  EXPECT_NE(Message({{"main.cpp", std::string(5 << 20, ' '), false}}).find("limit"),
            std::string::npos);
  EXPECT_EQ(Message({{"main.cpp", kMain, false}, {"after.cu", kForward}}), "");
}

}  // namespace
}  // namespace kuafu::verify

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) return 2;
  kuafu::verify::g_compiler = argv[1];
  kuafu::verify::g_corpus = argv[2];
  return RUN_ALL_TESTS();
}
