// SPDX-License-Identifier: Apache-2.0
// Goal: lists are read as written, mistakes name their line, and results cut short are done again.
// Method: literal lists.
#include "verify/batch.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kuafu::verify
