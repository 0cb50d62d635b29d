// SPDX-License-Identifier: Apache-2.0
// Goal: published speed-ups are read with care, the report keeps apart what ran, and both halves,
// and says what is known of how many.
// Method: lines and times made by hand.
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

TEST(CudaL1, OnlyWhatHasATime) {
  const std::string text = DumpJson(Line(7, 1.5, "__global__ void f() {}")) + "\n" +
                           DumpJson(Line(8, 1.5, "torch.matmul(a, b)")) + "\n" +
                           DumpJson(Line(9, Json(nullptr), "__global__")) + "\n" +
                           DumpJson(Line(10, -1, "__global__")) + "\n";
  const auto entries = Parse(text, "h100");
  ASSERT_TRUE(entries.ok()) << entries.error().message;
  ASSERT_EQ(entries.value().size(), 2u);
  EXPECT_EQ(entries.value()[0].id, "h100/level2/task7");
  EXPECT_EQ(entries.value()[0].speedup, 1.5);
  EXPECT_TRUE(entries.value()[0].kernels);
  EXPECT_FALSE(entries.value()[1].kernels);
  EXPECT_FALSE(Parse("{\n", "h100").ok());
}

// Of tasks that are held out.
Judged One(int number, double published, double modelled, WorkKind kind = WorkKind::kKernels) {
  Judged one{.entry = {.gpu = "h100", .level = 1}, .time = {}, .build_error = ""};
  int task = 0;
  for (int held_out = 0; held_out < number;) {
    one.entry.task = ++task;
    held_out += IsForFitting(one.entry) ? 0 : 1;
  }
  one.entry.id = "h100/level1/task" + std::to_string(task);
  one.entry.speedup = published;
  one.entry.kernels = true;
  one.time.known = true;
  one.time.kind = kind;
  one.time.speedup = modelled;
  one.time.uncertainty = 1.3;
  return one;
}

TEST(CudaL1, BothHalvesHaveTasksForEveryGpuAlike) {
  int fitting = 0;
  for (int task = 1; task <= 100; ++task) {
    const Entry a{.gpu = "h100", .level = 1, .task = task},
        b{.gpu = "a100", .level = 1, .task = task};
    EXPECT_EQ(IsForFitting(a), IsForFitting(b));
    fitting += IsForFitting(a) ? 1 : 0;
  }
  EXPECT_GT(fitting, 30);
  EXPECT_LT(fitting, 70);
}

TEST(CudaL1, RanksPairsAndWhatIsNotKnown) {
  std::vector<Judged> all = {One(1, 1, 1.2), One(2, 2, 1.9), One(3, 4, 3.9), One(4, 1.1, 1.3)};
  all.push_back(One(5, 3, 3));
  all.back().time = {.why = "a shape depends on values"};
  const std::string report = Report(all, HostConstants());
  // Against PyTorch: 2 and 4. Any two: (1,2), (1,3), (2,3), (2,4), (3,4).
  EXPECT_NE(report.find("| own kernels | 4 | 1.000 | 12 % | 100 % | 100 % of 2 |  | 100 % of 5 |"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find(": a shape depends on values"), std::string::npos) << report;
  all[2].time.speedup = 0.5;
  // Now wrong: 3 against PyTorch; (1,3), (2,3), (3,4).
  const std::string wrong = Report(all, HostConstants());
  EXPECT_NE(wrong.find("50 % of 2 |  | 40 % of 5 |"), std::string::npos) << wrong;
}

TEST(CudaL1, WhatFellBackToPyTorchIsNoKernel) {
  std::vector<Judged> all = {One(1, 1, 1), One(2, 2, 2, WorkKind::kPyTorch),
                             One(3, 2, 2, WorkKind::kMixed), One(4, 3, 3, WorkKind::kPyTorch)};
  all[1].build_error = "main.cpp:2: error: 'f' was not declared";
  all[3].time.approximate = {"torch.jit"};
  const std::string report = Report(all, HostConstants());
  for (const char* row : {"| own kernels, with or without PyTorch | 2 |", "| own kernels | 1 |",
                          "| own kernels and PyTorch | 1 |", "| PyTorch only | 1 |",
                          "| torch.jit and the like | 1 |", "was not declared"}) {
    EXPECT_NE(report.find(row), std::string::npos) << row << report;
  }
}

}  // namespace
}  // namespace kuafu::verify::cudal1
