// SPDX-License-Identifier: Apache-2.0
// Goal: real files become trials, and no file harms the next request. Method: the real helper, one
// process for all tests, small files; after each hostile one a good one.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/text.h"
#include "frontend/frontend.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/memfd.h"

namespace kuafu::frontend {
namespace {

constexpr std::string_view kHead = "import os\nimport torch\nimport torch.nn as nn\n";
constexpr std::string_view kModel =
    "class Model(nn.Module):\n    def forward(self, x):\n        return x + 1\n";
constexpr std::string_view kInputs = "def get_inputs():\n    return [torch.rand(4, 5)]\n";
constexpr std::string_view kInit = "def get_init_inputs():\n    return []\n";

std::string Text(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

std::string GoodFile() {
  return Text(
      {kHead, "n = 50\n", kModel, "def get_inputs():\n    return [torch.rand(n)]\n", kInit});
}

Helper& SharedHelper() {
  static std::unique_ptr<Helper> helper = [] {
    auto started = Helper::Start({});
    EXPECT_TRUE(started.ok());
    return std::move(started).value();
  }();
  return *helper;
}

Result<TrialSet> Make(const std::string& source, Plan plan = Plan::kQuick, int64_t ms = 30'000) {
  return SharedHelper().MakeTrials({.source = source, .plan = plan, .seed = 7},
                                   os::Deadline::AfterMs(ms));
}

TEST(Helper, OperatorsOfAFileThatFitsIntoNoMemory) {
  const std::string source = Text(
      {kHead, kModel, "def get_inputs():\n    return [torch.rand(1 << 19, 1 << 19)]\n", kInit});
  auto list = SharedHelper().ListOperators({.source = source}, os::Deadline::AfterMs(120'000));
  ASSERT_TRUE(list.ok()) << list.error().message;
  ASSERT_EQ(list.value().operators.size(), 1u);
  EXPECT_EQ(list.value().operators[0].kind, task::OperatorKind::kElementwise);
  EXPECT_EQ(list.value().operators[0].read_bytes, int64_t{1} << 40);
  EXPECT_EQ(list.value().results, list.value().operators[0].makes);
}

TEST(Helper, OperatorsAtTheSizesOfTrials) {
  const std::string source =
      Text({kHead, "rows = 4096\ncols = 8192\n", kModel,
            "def get_inputs():\n    return [torch.rand(rows, cols)]\n", kInit});
  auto set = Make(source);
  ASSERT_TRUE(set.ok()) << set.error().message;
  const ArgumentValue& x = set.value().trials.at(0).arguments.at(0);
  auto list = SharedHelper().ListOperators({.source = source, .sizes_json = set.value().sizes_json},
                                           os::Deadline::AfterMs(120'000));
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_LT(x.shape[0] * x.shape[1], 4096 * 8192);
  EXPECT_EQ(list.value().input_bytes, 4 * x.shape[0] * x.shape[1]);
  list = SharedHelper().ListOperators({.source = source}, os::Deadline::AfterMs(120'000));
  EXPECT_EQ(list.value().input_bytes, 4 * 4096 * 8192);
  list = SharedHelper().ListOperators({.source = source, .sizes_json = "{\"none\": 3}"},
                                      os::Deadline::AfterMs(120'000));
  EXPECT_FALSE(list.ok());
}

TEST(Helper, OperatorsThatDependOnValuesAreUnsupportedAndTheNextFileIsFine) {
  const std::string source = Text({kHead,
                                   "class Model(nn.Module):\n    def forward(self, x):\n"
                                   "        return x.nonzero()\n",
                                   kInputs, kInit});
  auto list = SharedHelper().ListOperators({.source = source}, os::Deadline::AfterMs(120'000));
  ASSERT_FALSE(list.ok());
  const std::string killer = Text({kHead, "os.kill(os.getpid(), 9)\n", kModel, kInputs, kInit});
  ASSERT_FALSE(
      SharedHelper().ListOperators({.source = killer}, os::Deadline::AfterMs(120'000)).ok());
  EXPECT_TRUE(
      SharedHelper().ListOperators({.source = GoodFile()}, os::Deadline::AfterMs(120'000)).ok());
}

TEST(Helper, TrialsOfASmallFile) {
  const std::string source = Text({kHead,
                                   "rows = 6\ncols = 700\n"
                                   "class Model(nn.Module):\n"
                                   "    def __init__(self, cols, eps):\n"
                                   "        super().__init__()\n"
                                   "        self.norm = nn.LayerNorm(cols, eps=eps)\n"
                                   "    def forward(self, x):\n"
                                   "        return self.norm(x)\n"
                                   "def get_inputs():\n    return [torch.randn(rows, cols)]\n"
                                   "def get_init_inputs():\n    return [cols, 1e-5]\n"});
  auto made = Make(source);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const TrialSet& set = made.value();
  std::vector<std::string> names;
  for (const task::Argument& a : set.task.arguments) names.push_back(a.name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "norm.weight", "norm.bias", "cols", "eps"}));
  EXPECT_EQ(set.task.reduction_max, 700);
  EXPECT_FALSE(set.task.trace.empty());
  std::set<std::string> labels;
  std::set<int64_t> lengths;
  for (const Trial& trial : set.trials) {
    labels.insert(trial.shape_label);
    lengths.insert(trial.arguments[0].shape[1]);
    EXPECT_EQ(trial.arguments[3].integer, trial.arguments[0].shape[1]);
    EXPECT_EQ(trial.arguments[4].real, 1e-5);
    EXPECT_EQ(trial.arguments[1].shape[0], trial.arguments[0].shape[1]);
  }
  EXPECT_TRUE(labels.contains("nominal") && labels.contains("odd") && labels.contains("prime"));
  EXPECT_TRUE(lengths.contains(700));
  EXPECT_TRUE(std::any_of(lengths.begin(), lengths.end(), [](int64_t n) { return n % 4 != 0; }));
  // The scale is not left at one, the shift not at zero.
  const os::Mapping inputs =
      os::MapFd(set.inputs.get(), set.inputs_bytes, os::Access::kReadOnly).value();
  const ArgumentValue& scale = set.trials[0].arguments[1];
  const auto* values = reinterpret_cast<const float*>(inputs.bytes().data() + scale.storage_at);
  EXPECT_NE(values[0], values[1]);
}

TEST(Helper, SameSeedSameTrialsOtherSeedOthers) {
  Helper& helper = SharedHelper();
  const auto bytes = [&](uint64_t seed) {
    TrialSet set =
        helper.MakeTrials({.source = GoodFile(), .seed = seed}, os::Deadline::AfterMs(30'000))
            .value();
    os::Mapping map = os::MapFd(set.inputs.get(), set.inputs_bytes, os::Access::kReadOnly).value();
    return std::string(map.bytes().begin(), map.bytes().end());
  };
  EXPECT_EQ(bytes(3), bytes(3));
  EXPECT_NE(bytes(3), bytes(4));
}

struct Hostile {
  const char* name;
  std::string source;
  Code code;
  const char* message;
};

std::vector<Hostile> HostileFiles() {
  const auto model = [](std::string_view body) {
    return Text({kHead, "class Model(nn.Module):\n    def forward(self, x):\n        ", body, "\n",
                 kInputs, kInit});
  };
  const auto top = [](std::string_view line) {
    return Text({kHead, line, "\n", kModel, kInputs, kInit});
  };
  const auto inputs = [](std::string_view body) {
    return Text({kHead, kModel, "def get_inputs():\n    ", body, "\n", kInit});
  };
  return {
      {"empty", "", Code::kInvalidInput, "no class Model"},
      {"syntax", top("def f(:"), Code::kInvalidInput, "line 4: syntax error"},
      {"no inputs", Text({kHead, kModel}), Code::kInvalidInput, "get_inputs"},
      {"model is no module", Text({"class Model: pass\n"}), Code::kInvalidInput, "nn.Module"},
      {"inputs are a tensor", inputs("return torch.rand(3)"), Code::kInvalidInput, "not a list"},
      {"input is a text", inputs("return ['a']"), Code::kUnsupported, "str"},
      {"list of tensors", inputs("return [[torch.rand(2), torch.rand(2)]]"), Code::kUnsupported,
       "list of tensors"},
      {"too many inputs", inputs("return [torch.rand(2), torch.rand(2)]"), Code::kInvalidInput,
       "forward() takes 1"},
      {"sparse", inputs("return [torch.rand(3, 3).to_sparse()]"), Code::kUnsupported, "sparse"},
      {"complex", inputs("return [torch.randn(3, dtype=torch.complex64)]"), Code::kUnsupported,
       "complex64"},
      {"absent package", top("import triton"), Code::kInvalidInput, "'triton' is not installed"},
      {"exit", top("import sys; sys.exit(0)"), Code::kInvalidInput, "line 4: the file calls exit"},
      {"hard exit", top("os._exit(0)"), Code::kInvalidInput, "loading the file: the file ended"},
      {"abort", model("os.abort()"), Code::kInvalidInput, "signal 6"},
      {"segfault", top("import ctypes; ctypes.string_at(0)"), Code::kInvalidInput, "signal 11"},
      {"recursion", model("return self.forward(x)"), Code::kInvalidInput, "recursion"},
      {"raises", model("raise ValueError('no')"), Code::kInvalidInput, "line 6: ValueError: no"},
      {"driver", model("return x + torch.cuda.current_device()"), Code::kInvalidInput,
       "runs on the CPU"},
      {"no tensor", model("return 3"), Code::kInvalidInput, "returns int"},
      {"random", model("return torch.nn.functional.dropout(x)"), Code::kInvalidInput,
       "random numbers"},
      {"memory", model("return torch.zeros(100 << 30)"), Code::kExhausted, "MiB"},
      {"memory in python", top("big = bytearray(100 << 30)"), Code::kExhausted, "memory"},
      {"memory by pieces", top("l = []\nwhile True: l.append(bytearray(1 << 24))"),
       Code::kExhausted, "memory"},
      {"huge inputs", inputs("return [torch.rand(int(float('1e12')))]"), Code::kExhausted, "MiB"},
      {"fork", top("while True: os.fork()"), Code::kInvalidInput, "Operation not permitted"},
      {"program", top("import subprocess; subprocess.run(['/bin/true'])"), Code::kInvalidInput,
       "Operation not permitted"},
      {"socket", top("import socket; socket.socket()"), Code::kInvalidInput, "not permitted"},
      {"kill parent", top("os.kill(os.getppid(), 9)"), Code::kInvalidInput, "not permitted"},
      {"write", top("open('/tmp/kuafu_hostile_file', 'w').write('x' * 100)"), Code::kInvalidInput,
       "Error"},
      {"remove", top("os.unlink('/usr/bin/python3')"), Code::kInvalidInput, "Error"},
  };
}

TEST(Helper, HostileFilesCostThemselvesOnly) {
  for (const Hostile& file : HostileFiles()) {
    const auto made = SharedHelper().MakeTrials(
        {.source = file.source, .memory_bytes = int64_t{256} << 20}, os::Deadline::AfterMs(20'000));
    ASSERT_FALSE(made.ok()) << file.name;
    EXPECT_EQ(made.error().code, file.code) << file.name << ": " << made.error().message;
    EXPECT_TRUE(Contains(made.error().message, file.message))
        << file.name << ": " << made.error().message;
  }
  EXPECT_FALSE(os::FileExists("/tmp/kuafu_hostile_file"));
  EXPECT_TRUE(os::FileExists("/usr/bin/python3"));
  const auto after = Make(GoodFile());
  EXPECT_TRUE(after.ok()) << after.error().message;
}

TEST(Helper, OutputOfTheFileGoesNowhere) {
  const auto made = Make(Text(
      {kHead, "print('x' * 10000000)\nos.write(1, b'y' * 1000000)\n", kModel, kInputs, kInit}));
  EXPECT_TRUE(made.ok()) << made.error().message;
}

TEST(Helper, EndlessFileEndsAtTheDeadline) {
  ASSERT_TRUE(Make(GoodFile()).ok());
  // Long enough for a busy machine to come as far as the file.
  const auto made = Make(Text({kHead, "while True: pass\n"}), Plan::kQuick, 5000);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::kDeadline);
  EXPECT_TRUE(Contains(made.error().message, "loading the file")) << made.error().message;
  const auto sleeping =
      Make(Text({kHead, "import signal, time\n",
                 "for s in range(1, 60):\n    try: signal.signal(s, signal.SIG_IGN)\n",
                 "    except (OSError, ValueError): pass\n", "while True: time.sleep(1)\n"}),
           Plan::kQuick, 200);
  EXPECT_EQ(sleeping.error().code, Code::kDeadline);
  EXPECT_TRUE(Make(GoodFile()).ok());
}

TEST(Helper, MutatedBuffersAreOutputs) {
  auto made = Make(Text({kHead,
                         "channels = 6\n"
                         "class Model(nn.Module):\n"
                         "    def __init__(self, channels):\n"
                         "        super().__init__()\n"
                         "        self.norm = nn.BatchNorm1d(channels)\n"
                         "    def forward(self, x):\n        return self.norm(x)\n"
                         "def get_inputs():\n    return [torch.randn(20, channels)]\n"
                         "def get_init_inputs():\n    return [channels]\n"}));
  ASSERT_TRUE(made.ok()) << made.error().message;
  const Trial& trial = made.value().trials[0];
  ASSERT_EQ(trial.outputs.size(), 3u);
  EXPECT_EQ(trial.outputs[0].argument, -1);
  const auto& arguments = made.value().task.arguments;
  EXPECT_EQ(arguments[static_cast<size_t>(trial.outputs[1].argument)].name, "norm.running_mean");
  EXPECT_EQ(arguments[static_cast<size_t>(trial.outputs[2].argument)].name, "norm.running_var");
  EXPECT_FALSE(made.value().inputs_mutated);
}

std::string NormFile() {
  return Text({kHead,
               "channels = 6\n"
               "class Model(nn.Module):\n"
               "    def __init__(self, channels, eps=1e-5):\n"
               "        super().__init__()\n"
               "        self.norm = nn.BatchNorm1d(channels, eps=eps)\n"
               "    def forward(self, x):\n        return self.norm(x)\n"
               "def get_inputs():\n    return [torch.randn(20, channels)]\n"
               "def get_init_inputs():\n    return [[channels], {'eps': 0.1}]\n"});
}

std::vector<float> Values(const TrialSet& set, const ArgumentValue& argument) {
  const os::Mapping map =
      os::MapFd(set.inputs.get(), set.inputs_bytes, os::Access::kReadOnly).value();
  const auto* first = reinterpret_cast<const float*>(map.bytes().data() + argument.storage_at);
  return {first, first + argument.storage_bytes / 4};
}

TEST(Helper, ParametersAsBuiltAreThoseOfTheConstructor) {
  const TrialRequest request{.source = NormFile(), .seed = 5, .as_built = true};
  const auto made = SharedHelper().MakeTrials(request, os::Deadline::AfterMs(30'000));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(task::InputCount(made.value().task), 1);
  for (const Trial& trial : made.value().trials) {
    EXPECT_EQ(Values(made.value(), trial.arguments[1])[0], 1.0F);
    EXPECT_EQ(Values(made.value(), trial.arguments[2])[0], 0.0F);
    EXPECT_EQ(Values(made.value(), trial.arguments[3])[0], 0.0F);
  }
  auto drawn = Make(NormFile());
  ASSERT_TRUE(drawn.ok()) << drawn.error().message;
  EXPECT_NE(Values(drawn.value(), drawn.value().trials[0].arguments[1])[0], 1.0F);
}

TEST(Helper, ATrialTellsHowItsModelWasBuilt) {
  const auto made = Make(NormFile());
  ASSERT_TRUE(made.ok()) << made.error().message;
  for (const Trial& trial : made.value().trials) {
    EXPECT_NE(trial.model_seed, 0u);
    const std::string channels = std::to_string(trial.arguments[0].shape[1]);
    EXPECT_EQ(trial.init_json, "{\"args\": [" + channels + "], \"kwargs\": {\"eps\": 0.1}}");
  }
}

TEST(Helper, ConstructorArgumentsThatAreNoJsonAreSaidSo) {
  const auto made = Make(Text({kHead,
                               "class Model(nn.Module):\n"
                               "    def __init__(self, f):\n        super().__init__()\n"
                               "        self.f = f\n"
                               "    def forward(self, x):\n        return self.f(x)\n",
                               kInputs, "def get_init_inputs():\n    return [torch.relu]\n"}));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made.value().trials[0].init_json, "");
  const auto& notes = made.value().notes;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return Contains(note, "the constructor's arguments cannot be passed on");
  }));
}

TEST(Helper, TheProtocolOfKernelBenchHasFiveTrialsAtOneShape) {
  const TrialRequest request{.source = NormFile(), .seed = 5, .compat_kernelbench = true};
  const auto made = SharedHelper().MakeTrials(request, os::Deadline::AfterMs(30'000));
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made.value().trials.size(), 5u);
  std::set<uint64_t> seeds;
  for (const Trial& trial : made.value().trials) {
    seeds.insert(trial.seed);
    EXPECT_EQ(trial.shape_label, "nominal");
    EXPECT_EQ(trial.model_seed, 42u);
    EXPECT_EQ(trial.arguments[0].shape, (tensor::Shape{20, 6}));
    EXPECT_EQ(Values(made.value(), trial.arguments[1])[0], 1.0F);
    ASSERT_EQ(trial.outputs.size(), 1u);  // buffers are not compared there
    EXPECT_TRUE(trial.outputs[0].expected.e32.empty());
  }
  EXPECT_EQ(seeds.size(), 5u);
}

TEST(Helper, DropoutModulesAreSwitchedOff) {
  const auto made = Make(Text({kHead,
                               "class Model(nn.Module):\n"
                               "    def __init__(self):\n        super().__init__()\n"
                               "        self.drop = nn.Dropout(0.5)\n"
                               "    def forward(self, x):\n        return self.drop(x)\n",
                               kInputs, kInit}));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(made.value().dropout_off);
  EXPECT_FALSE(Make(NormFile()).value().dropout_off);
}

TEST(Helper, MutatedInputsAreNoticed) {
  const auto made = Make(Text({kHead,
                               "class Model(nn.Module):\n    def forward(self, x):\n"
                               "        x.mul_(2)\n        return x.sum(1)\n",
                               kInputs, kInit}));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(made.value().inputs_mutated);
}

TEST(Helper, CacheKeepsAnswersAndIgnoresDamage) {
  const auto dir = os::TempDir::Create("frontend-cache").value();
  auto helper = Helper::Start({.cache_dir = dir.path()}).value();
  const TrialRequest request{.source = GoodFile(), .seed = 11};
  const auto first = helper->MakeTrials(request, os::Deadline::AfterMs(30'000));
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_FALSE(helper->torch_version().empty());

  const auto trials_file = [&] {
    const auto names = os::ListDir(dir.path()).value();
    for (const std::string& name : names) {
      if (EndsWith(name, ".trials")) return dir.File(name);
    }
    return std::string();
  };
  // A helper that cannot start finds them all the same.
  auto cold = Helper::Start({.cache_dir = dir.path()}).value();
  const auto second = cold->MakeTrials(request, os::Deadline::AfterMs(100));
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second.value().trials.size(), first.value().trials.size());
  EXPECT_EQ(second.value().inputs_bytes, first.value().inputs_bytes);
  EXPECT_EQ(second.value().trials[0].outputs[0].expected.y64.ToDoubles(),
            first.value().trials[0].outputs[0].expected.y64.ToDoubles());

  TrialRequest as_built = request;
  as_built.as_built = true;
  EXPECT_EQ(cold->MakeTrials(as_built, os::Deadline::AfterMs(0)).error().code, Code::kDeadline);

  std::string text = os::ReadFile(trials_file(), int64_t{1} << 30).value();
  text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
  ASSERT_TRUE(os::WriteFileAtomic(trials_file(), text).ok());
  EXPECT_EQ(cold->MakeTrials(request, os::Deadline::AfterMs(0)).error().code, Code::kDeadline);
  EXPECT_TRUE(helper->MakeTrials(request, os::Deadline::AfterMs(30'000)).ok());
}

TEST(Helper, AbsentPythonIsUnavailable) {
  const auto helper = Helper::Start({.python = "/nonexistent/python3"});
  ASSERT_FALSE(helper.ok());
  EXPECT_EQ(helper.error().code, Code::kUnavailable);
}

TEST(Helper, ZygoteThatDiesIsNoSlowReferenceWhileItsChildHoldsTheChannel) {
  const auto dir = os::TempDir::Create("frontend-zygote").value();
  const std::string script = dir.File("zygote.py");
  ASSERT_TRUE(os::MakeDirs(dir.File("kuafu_frontend")).ok());
  ASSERT_TRUE(os::WriteFileAtomic(script,
                                  "import os, time\n"
                                  "if os.fork() == 0:\n    time.sleep(100)\n")
                  .ok());
  auto helper = Helper::Start({.script = script}).value();
  const auto made = helper->MakeTrials({.source = GoodFile()}, os::Deadline::AfterMs(60'000));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::kUnavailable) << made.error().message;
}

TEST(Helper, ZygoteThatDiesIsReplaced) {
  const auto dir = os::TempDir::Create("frontend-zygote").value();
  const std::string script = dir.File("zygote.py");
  ASSERT_TRUE(os::MakeDirs(dir.File("kuafu_frontend")).ok());
  ASSERT_TRUE(os::WriteFileAtomic(script, "import sys\nsys.exit('broken on purpose')\n").ok());
  auto helper = Helper::Start({.script = script}).value();
  for (int i = 0; i < 2; ++i) {
    const auto made = helper->MakeTrials({.source = GoodFile()}, os::Deadline::AfterMs(5000));
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::kUnavailable);
    EXPECT_TRUE(Contains(made.error().message, "broken on purpose")) << made.error().message;
  }
}

}  // namespace
}  // namespace kuafu::frontend
