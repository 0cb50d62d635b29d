// SPDX-License-Identifier: Apache-2.0
// Goal: published speed-ups are read with care, and the report says what is known of how many.
// Method: lines and speeds made by hand.
#include "verify/cudal1.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace kuafu::verify::cudal1 {
namespace {

Json Line(int task, const Json& score, const std::string& code) {
  return {{"level_id", 2},
          {"task_id", task},
          {"ref_code", "r"},
          {"custom_code", code},
          {"score_default", score}};
}

TEST(CudaL1, OnlyKernelsWithATimeAndCodeOfTheirOwn) {
  const std::string text = DumpJson(Line(7, 1.5, "__global__ void f() {}")) + "\n" +
                           DumpJson(Line(8, 1.5, "torch.matmul(a, b)")) + "\n" +
                           DumpJson(Line(9, Json(nullptr), "__global__")) + "\n" +
                           DumpJson(Line(10, -1, "__global__")) + "\n";
  const auto entries = Parse(text, "h100");
  ASSERT_TRUE(entries.ok()) << entries.error().message;
  ASSERT_EQ(entries.value().size(), 1u);
  EXPECT_EQ(entries.value()[0].id, "h100/level2/task7");
  EXPECT_EQ(entries.value()[0].speedup, 1.5);
  EXPECT_FALSE(Parse("{\n", "h100").ok());
}

Judged One(int task, double published, double modelled) {
  Judged one{.entry = {.id = "h100/level1/task" + std::to_string(task), .gpu = "h100"},
             .speed = {},
             .cls = "pass"};
  one.entry.speedup = published;
  one.speed.known = one.speed.as_written = true;
  one.speed.speedup = modelled;
  one.speed.speedup_uncertainty = 1.3;
  one.speed.binds = "DRAM";
  return one;
}

TEST(CudaL1, RanksPairsAndWhatIsNotKnown) {
  std::vector<Judged> all = {One(1, 1, 1.2), One(2, 2, 1.9), One(3, 4, 3.9), One(4, 1.1, 1.3)};
  all.push_back(One(5, 3, 3));
  all.back().speed = {.why = "a shape depends on values"};
  const std::string report = Report(all);
  // Pairs that differ enough: (1,2), (1,3), (2,3), (2,4), (3,4).
  EXPECT_NE(report.find("| h100 | 5 | 4 | 1.000 |"), std::string::npos) << report;
  EXPECT_NE(report.find("100 % of 5 |"), std::string::npos) << report;
  EXPECT_NE(report.find("task5: pass: a shape depends on values"), std::string::npos) << report;
  all[2].speed.speedup = 0.5;
  // Now wrong: (1,3), (2,3), (3,4).
  EXPECT_NE(Report(all).find("40 % of 5 |"), std::string::npos) << Report(all);
}

}  // namespace
}  // namespace kuafu::verify::cudal1
