// SPDX-License-Identifier: Apache-2.0
// Goal: the reward is equation 2 to the digit, and feedback tells what helps and no secret. Method:
// each branch by hand; a verdict whose every field holds a seed or a value class.
#include "verify/reward.h"

#include <gtest/gtest.h>

#include <cmath>

#include "verify/feedback.h"

namespace kuafu::verify {
namespace {

using verdict::Class;
using verdict::Verdict;

Verdict Of(Class cls, int passed, int total) {
  Verdict v;
  v.cls = cls;
  v.trials_passed = passed;
  v.trials_total = total;
  return v;
}

double Value(const Verdict& v, const RewardInput& input = {}) { return RewardOf(v, input).value; }

TEST(Reward, EachBranchOfTheEquation) {
  EXPECT_EQ(Value(Of(Class::kCompileError, 0, 0)), -1);
  EXPECT_EQ(Value(Of(Class::kFormatError, 0, 0)), -1);
  EXPECT_EQ(Value(Of(Class::kCheating, 9, 9)), -1);
  EXPECT_EQ(Value(Of(Class::kIllegalFallback, 9, 9)), -1);
  EXPECT_EQ(Value(Of(Class::kRuntimeError, 8, 9)), -1);
  EXPECT_EQ(Value(Of(Class::kTimeout, 8, 9)), -1);
  EXPECT_EQ(Value(Of(Class::kWrongResult, 0, 8)), -1);
  EXPECT_DOUBLE_EQ(Value(Of(Class::kWrongResult, 2, 8)), -0.5 + 0.5 * 0.25);
  EXPECT_DOUBLE_EQ(Value(Of(Class::kWrongResult, 7, 8)), -0.5 + 0.5 * 0.875);
  EXPECT_LT(Value(Of(Class::kWrongResult, 8, 8)), 0);
  EXPECT_EQ(Value(Of(Class::kPass, 8, 8)), 1);
}

TEST(Reward, TheBonusBeginsAboveParityAndIsBounded) {
  const Verdict right = Of(Class::kPass, 8, 8);
  EXPECT_EQ(Value(right, {.speedup = 0.3}), 1);
  EXPECT_EQ(Value(right, {.speedup = 1.0}), 1);
  EXPECT_DOUBLE_EQ(Value(right, {.speedup = 2.0}), 1.5);
  EXPECT_DOUBLE_EQ(Value(right, {.speedup = 100.0}), 3);
  EXPECT_DOUBLE_EQ(Value(right, {.speedup = 3.0, .options = {.lambda = 1, .v_max = 1}}), 2);
  EXPECT_EQ(Value(right, {.speedup = NAN}), 1);
  EXPECT_FALSE(RewardOf(right, {}).speed_known);
  EXPECT_FALSE(RewardOf(right, {.speedup = INFINITY}).speed_known);
}

TEST(Reward, TheSanitizerFailsUnlessSwitchedOff) {
  const Verdict race = Of(Class::kRace, 0, 8);
  EXPECT_EQ(Value(race, {.trials_right = 8}), -1);
  EXPECT_EQ(Value(race, {.trials_right = 8, .options = {.sanitizer_fails = false}}), 1);
  EXPECT_DOUBLE_EQ(Value(race, {.trials_right = 4, .options = {.sanitizer_fails = false}}), -0.25);
}

TEST(Reward, AFaultOfTheVerifierIsNotScored) {
  EXPECT_FALSE(RewardOf(Of(Class::kInfra, 8, 8), {}).scored);
  EXPECT_TRUE(RewardOf(Of(Class::kPass, 8, 8), {}).scored);
}

TEST(Feedback, NamesClassLineInputAndValuesButNoSecret) {
  Verdict v = Of(Class::kWrongResult, 3, 9);
  v.summary = "y: 12 values wrong";
  v.seed = 987654321;
  v.failing_trial = "odd: x [7, 129], large_mean values, order seed 987654321";
  v.reproducer = "kuafu verify a b --seed=987654321";
  v.notes = {"values of class large_mean were dropped"};
  v.error = {.where = "y at [1, 2]", .got = 1.5, .expected = 2.5};
  v.findings = {{.cls = Class::kOob, .message = "reads past x", .kernel = "k", .line = 12}};
  const std::string text = FeedbackOf(v, {.shapes = "x [7, 129]", .own_values = false});
  for (const char* part : {"wrong_result", "y: 12 values wrong", "line 12: reads past x",
                           "x [7, 129]", "got 1.5, expected 2.5", "3 of 9 trials"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  for (const char* secret : {"987654321", "seed", "large_mean", "kuafu verify", "odd:"})
    EXPECT_EQ(text.find(secret), std::string::npos) << secret << "\n" << text;
  v.summary = "wrong under order seed 987654321";
  EXPECT_EQ(FeedbackOf(v, {}).find("987654321"), std::string::npos);
}

TEST(Feedback, CompilersAreQuotedAndBounded) {
  Verdict v = Of(Class::kCompileError, 0, 0);
  v.summary = "a.cu:2:3: error: x";
  v.gates[static_cast<int>(verdict::Gate::kCompile)].evidence =
      "a.cu:2:3: error: x\n   y\n   ^\n" + std::string(100000, 'z');
  const std::string text = FeedbackOf(v, {});
  EXPECT_NE(text.find("   ^"), std::string::npos) << text;
  EXPECT_LT(text.size(), 5000u);
}

TEST(Feedback, ARightCandidateHearsWhatCostsTimeOnly) {
  const std::string text =
      FeedbackOf(Of(Class::kPass, 9, 9), {.launches = 3, .lane_instructions = 1000});
  EXPECT_NE(text.find("3 kernel launches"), std::string::npos) << text;
  EXPECT_NE(text.find("not known"), std::string::npos) << text;
  EXPECT_EQ(text.find("failed"), std::string::npos) << text;
}

}  // namespace
}  // namespace kuafu::verify
