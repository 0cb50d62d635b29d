// SPDX-License-Identifier: Apache-2.0
// Goal: lists are read as written, mistakes name their line, results cut short are done again, and
// threads lose or mix up none. Method: literal lists; for the threads a compile worker that ends at
// once, so that no candidate gets further than the code which the threads share.
#include "verify/batch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "os/file.h"

namespace kuafu::verify {
namespace {

TEST(ParseBatch, DefaultsFillWhatALineLeavesOut) {
  Request defaults;
  defaults.targets = ParseTargets("sim:a100").value();
  Result<std::vector<BatchItem>> items = ParseBatch(
      R"({"id": "a", "reference": "r.py", "kernel": "k.cu"}

{"id": "b", "reference": "r.py", "kernel": "k.mu", "target": "sim:h100,sim:mtt-s4000",
 "plan": "full"})",
      defaults);
  EXPECT_FALSE(items.ok()) << "an object over two lines";
  items = ParseBatch(
      "{\"id\": \"a\", \"reference\": \"r.py\", \"kernel\": \"k.cu\"}\n\n"
      "{\"id\": \"b\", \"reference\": \"r.py\", \"kernel\": \"k.mu\", \"plan\": \"full\", "
      "\"target\": \"sim:h100,sim:mtt-s4000\", \"sanitize\": false, \"seed\": 3}\n",
      defaults);
  ASSERT_TRUE(items.ok()) << items.error().ToString();
  ASSERT_EQ(items.value().size(), 2u);
  EXPECT_EQ(items.value()[0].request.targets.front().text, "sim:a100");
  EXPECT_EQ(items.value()[1].request.targets.size(), 2u);
  EXPECT_EQ(items.value()[1].request.plan, frontend::Plan::kFull);
  EXPECT_FALSE(items.value()[1].request.sanitize);
  EXPECT_EQ(items.value()[1].request.seed, 3u);
}

TEST(ParseBatch, MistakesNameTheirLine) {
  const std::string good = "{\"id\": \"a\", \"reference\": \"r.py\", \"kernel\": \"k.cu\"}\n";
  for (const char* bad :
       {"nonsense", "{\"id\": \"b\"}", "{\"id\": 1, \"reference\": \"r\", \"kernel\": \"k\"}",
        "{\"id\": \"b\", \"reference\": \"r\", \"kernel\": \"k\", \"targt\": \"sim:h100\"}",
        "{\"id\": \"b\", \"reference\": \"r\", \"kernel\": \"k\", \"target\": \"h100\"}",
        "{\"id\": \"b\", \"reference\": \"r\", \"kernel\": \"k\", \"plan\": \"slow\"}",
        "{\"id\": \"b\", \"reference\": \"r\", \"kernel\": \"k\", \"timeout_s\": 0}",
        "{\"id\": \"a\", \"reference\": \"r\", \"kernel\": \"k\"}"}) {
    Result<std::vector<BatchItem>> items = ParseBatch(good + bad, Request{});
    ASSERT_FALSE(items.ok()) << bad;
    EXPECT_NE(items.error().message.find("line 2"), std::string::npos) << items.error().message;
  }
}

TEST(FinishedIds, ALineThatWasCutIsNoResult) {
  const auto ids = FinishedIds("{\"id\": \"a\", \"verdict\": {}}\n{\"id\": \"b\", \"verd");
  EXPECT_TRUE(ids.contains("a"));
  EXPECT_FALSE(ids.contains("b"));
}

TEST(FinishedIds, AFaultOfTheMachineIsTriedAgain) {
  const auto ids = FinishedIds(
      "{\"id\": \"a\", \"verdict\": {\"class\": \"infra\"}}\n"
      "{\"id\": \"b\", \"error\": {\"code\": \"unavailable\"}}\n"
      "{\"id\": \"c\", \"error\": {\"code\": \"invalid_input\"}}\n"
      "{\"id\": \"d\", \"verdict\": {\"class\": \"race\"}}\n");
  EXPECT_EQ(ids, (std::unordered_set<std::string>{"c", "d"}));
}

TEST(RunBatch, ThreadsLoseAndMixUpNone) {
  os::TempDir dir = os::TempDir::Create("test").value();
  const auto write = [&](const std::string& name, const std::string& text) {
    EXPECT_TRUE(os::WriteFileAtomic(dir.File(name), text).ok());
    return dir.File(name);
  };
  Request request;
  request.targets = ParseTargets("sim:h100").value();
  request.reference_path = write("reference.py", "");
  // In turns: unusable, rejected before the compiler, and a worker that is not there.
  const std::vector<std::string> kernels = {
      write("kernel.txt", ""), write("manifest.cu", "// kuafu: entri=f\n__global__ void f() {}\n"),
      write("good.cu", "__global__ void f() {}\n")};
  std::vector<BatchItem> items;
  for (int i = 0; i < 30; ++i) {
    request.kernel_path = kernels[static_cast<size_t>(i) % kernels.size()];
    items.push_back({std::to_string(i), request});
  }
  auto verifier = Verifier::Start({.compiler = "/bin/false", .compile_workers = 2});
  ASSERT_TRUE(verifier.ok()) << verifier.error().ToString();
  std::map<std::string, Json> lines;
  const BatchSummary summary = RunBatch(
      *verifier.value(), items, 4,
      [&](const Json& line) { lines[JsonString(line, "id").value()] = line; },
      [] { return false; });
  EXPECT_EQ(summary.passed, 0);
  EXPECT_EQ(summary.failed, 10);
  EXPECT_EQ(summary.errors, 20);
  ASSERT_EQ(lines.size(), items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const Json& line = lines.at(items[i].id);
    if (i % 3 == 0) {
      EXPECT_EQ(line["error"]["code"], "invalid_input") << DumpJson(line);
    } else {
      EXPECT_EQ(line["verdict"]["class"], i % 3 == 1 ? "format_error" : "infra") << DumpJson(line);
    }
  }
}

TEST(RunBatch, StopLeavesTheRest) {
  Request request;
  request.targets = ParseTargets("sim:h100").value();
  const std::vector<BatchItem> items(20, {"a", request});
  auto verifier = Verifier::Start({.compiler = "/bin/false"});
  ASSERT_TRUE(verifier.ok()) << verifier.error().ToString();
  std::atomic<int> asked = 0;
  int lines = 0;
  const BatchSummary summary = RunBatch(
      *verifier.value(), items, 2, [&](const Json&) { ++lines; }, [&] { return ++asked > 6; });
  EXPECT_LE(lines, 6);
  EXPECT_EQ(summary.errors, lines);
}

}  // namespace
}  // namespace kuafu::verify
