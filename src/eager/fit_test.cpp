// SPDX-License-Identifier: Apache-2.0
// Goal: fitting finds constants that made the data and keeps to plausible ones; statistics are
// right. Method: times from the model itself with changed constants, and small lists by hand.
#include "eager/fit.h"

#include <gtest/gtest.h>

#include <list>

#include "eager/published.h"
#include "eager/report.h"

namespace kuafu::eager {
namespace {

task::OperatorList Streaming(int64_t bytes) {
  task::OperatorList list;
  list.operators.push_back({.op = "relu",
                            .kind = task::OperatorKind::kElementwise,
                            .read_bytes = bytes,
                            .written_bytes = bytes,
                            .uses = {0},
                            .use_bytes = {bytes},
                            .makes = {1}});
  return list;
}

TEST(EagerFit, FindsTheBandwidthThatMadeTheTimes) {
  const Machine machine = MachineOf(*device::FindProfile("h100"));
  Constants truth;
  truth.Set(static_cast<int>(machine.bandwidth), 0.8);
  std::list<task::OperatorList> lists;
  std::vector<Sample> samples;
  for (int i = 1; i <= 40; ++i) {
    lists.push_back(Streaming(int64_t{i} << 28));
    samples.push_back({.id = std::to_string(i), .list = &lists.back(), .machine = machine});
    samples.back().measured_ms = Model(lists.back(), machine, truth).ms;
  }
  const FitResult found = Fit(samples, Constants(), {.rounds = 20, .prior = 0.001});
  EXPECT_NEAR(found.constants[machine.bandwidth], 0.8, 0.02);
  EXPECT_LE(found.loss_after, found.loss_before);
  for (int i = 0; i < kConstantCount; ++i) {
    EXPECT_GE(found.constants.at(i), kConstants[i].low * 0.99);
    EXPECT_LE(found.constants.at(i), kConstants[i].high * 1.01);
  }
}

TEST(EagerFit, AboutAThirdIsForFittingWhateverTheOrder) {
  int count = 0;
  for (int i = 0; i < 3000; ++i) count += IsForFitting("level1/" + std::to_string(i)) ? 1 : 0;
  EXPECT_NEAR(count, 1000, 100);
}

TEST(EagerReport, SpearmanAndQuantiles) {
  const std::vector<double> a = {1, 2, 3, 4}, b = {10, 20, 30, 40}, c = {4, 3, 2, 1};
  EXPECT_DOUBLE_EQ(Spearman(a, b), 1);
  EXPECT_DOUBLE_EQ(Spearman(a, c), -1);
  EXPECT_NEAR(Spearman(a, std::vector<double>{1, 1, 2, 3}), 0.9486833, 1e-6);
  EXPECT_EQ(Spearman(a, std::vector<double>{5, 5, 5, 5}), 0);
  EXPECT_DOUBLE_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(Quantile({0, 10}, 0.9), 9);
  EXPECT_DOUBLE_EQ(Quantile({}, 0.5), 0);
}

TEST(EagerReport, SaysModelledAndKeepsPartsApart) {
  const task::OperatorList list = Streaming(1 << 28);
  std::vector<Judged> all;
  const Machine machine = MachineOf(*device::FindProfile("h100"));
  for (int i = 0; i < 12; ++i) {
    Sample sample{.id = "level1/" + std::to_string(i),
                  .level = 1,
                  .list = &list,
                  .machine = machine,
                  .measured_ms = 0.1 + i};
    all.push_back(Judge(sample, "eager", Constants()));
  }
  const std::string text =
      Report(all, {.constants_hash = "abc", .left_out = {"level1/x: no time"}});
  for (const char* part : {"**modelled**", "abc", "h100, eager", "fitted on", "held out, level 1",
                           "mostly elementwise", "level1/x: no time"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  EXPECT_EQ(ToJson(all[0])["label"], "modelled");
  const std::string svg = ScatterSvg(all);
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
}

TEST(EagerPublished, TimesWithTheirHardwareAndNothingMadeUp) {
  const auto times = ParseKernelBench(R"({"level1": {
      "1_A.py": {"mean": 2.5, "hardware": "NVIDIA H100 PCIe"}, "2_B.py": null,
      "3_C.py": {"mean": -1, "hardware": "NVIDIA H100 PCIe"}}})");
  ASSERT_TRUE(times.ok()) << times.error().message;
  ASSERT_EQ(times.value().size(), 1u);
  EXPECT_EQ(times.value()[0].id, "level1/1_A.py");
  EXPECT_EQ(times.value()[0].profile, "h100-pcie");
  EXPECT_DOUBLE_EQ(times.value()[0].ms, 2.5);
  EXPECT_EQ(ProfileOfHardware("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(ProfileOfHardware("AMD Instinct"), "");
  EXPECT_FALSE(ParseKernelBench("[]").ok());
  EXPECT_FALSE(ParseKernelBench("{").ok());
}

}  // namespace
}  // namespace kuafu::eager
