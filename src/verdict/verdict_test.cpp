// SPDX-License-Identifier: Apache-2.0
// Goal: a verdict survives its JSON form, and damaged JSON is refused. Method: round trip of a
// record with every field set, then removal and mistyping of each top-level field.
#include "verdict/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kuafu::verdict {
namespace {

Verdict Sample() {
  Verdict v;
  v.task = "softmax";
  v.candidate_hash = "abc";
  v.target = "sim:h100";
  v.cls = Class::kRace;
  v.summary = "two threads use scratch without a barrier between";
  v.gates[2] = {GateStatus::kPassed, "grid 4, block 256"};
  v.gates[static_cast<int>(Gate::kSanitize)] = {GateStatus::kFailed, "1 finding"};
  v.reason = "no_kernel";
  v.findings = {{.cls = Class::kRace,
                 .message = "m",
                 .kernel = "k",
                 .file = "a.cu",
                 .line = 12,
                 .column = 3,
                 .other_line = 9,
                 .block = "(0,0,0)",
                 .thread = "(1,0,0)",
                 .other_block = "(0,0,0)",
                 .other_thread = "(2,0,0)",
                 .allocation = "scratch"}};
  v.failing_trial = "nominal";
  v.reproducer = "kuafu verify a b";
  v.error = {1, 2, 3, "output 0", 4, 5};
  v.trials_passed = 3;
  v.trials_total = 7;
  v.warp_widths = {32, 128};
  v.plan = "quick";
  v.seed = 18446744073709551615ull;
  v.total_ms = 1.5;
  v.reward = {.scored = true, .value = -0.25, .quality = 0.5, .speed_known = true, .speedup = 2};
  v.speed = {.known = true,
             .as_written = true,
             .sampled = true,
             .kernel_ms = 2,
             .kernel_uncertainty = 1.5,
             .eager_ms = 6,
             .eager_uncertainty = 1.25,
             .speedup = 3,
             .speedup_uncertainty = 1.75,
             .floor_ms = 1,
             .kernel = "k",
             .binds = "DRAM"};
  v.feedback = "f";
  v.notes = {"n"};
  return v;
}

TEST(VerdictTest, JsonRoundTripKeepsEveryField) {
  const Json json = ToJson(Sample());
  Result<Verdict> again = FromJson(json);
  ASSERT_TRUE(again.ok()) << again.error().ToString();
  EXPECT_EQ(ToJson(again.value()), json);
  EXPECT_EQ(again.value().seed, 18446744073709551615ull);
}

TEST(VerdictTest, NanAndInfinityInTheErrorSurvive) {
  Verdict v = Sample();
  v.error.got = std::nan("");
  v.error.max_abs = INFINITY;
  v.error.expected = -INFINITY;
  Result<Json> json = ParseJson(DumpJson(ToJson(v)));
  ASSERT_TRUE(json.ok());
  Result<Verdict> again = FromJson(json.value());
  ASSERT_TRUE(again.ok()) << again.error().ToString();
  EXPECT_TRUE(std::isnan(again.value().error.got));
  EXPECT_EQ(again.value().error.max_abs, INFINITY);
  EXPECT_EQ(again.value().error.expected, -INFINITY);
}

TEST(VerdictTest, ARewardThatWasNotGivenIsNullNotZero) {
  Verdict v = Sample();
  v.reward = {};
  const Json json = ToJson(v);
  EXPECT_TRUE(json["reward"]["value"].is_null());
  Result<Verdict> again = FromJson(json);
  ASSERT_TRUE(again.ok()) << again.error().ToString();
  EXPECT_FALSE(again.value().reward.scored);
  EXPECT_FALSE(again.value().reward.speed_known);
  Json damaged = json;
  damaged["reward"].erase("value");
  EXPECT_FALSE(FromJson(damaged).ok());
  damaged["reward"]["value"] = true;
  EXPECT_FALSE(FromJson(damaged).ok());
}

TEST(VerdictTest, ASpeedThatIsNotKnownHasAReasonAndNoNumbers) {
  Verdict v = Sample();
  v.speed = {.why = "a shape depends on values"};
  const Json json = ToJson(v);
  EXPECT_TRUE(json["speed"]["kernel_ms"].is_null());
  Result<Verdict> again = FromJson(json);
  ASSERT_TRUE(again.ok()) << again.error().ToString();
  EXPECT_FALSE(again.value().speed.known);
  EXPECT_EQ(SpeedText(again.value().speed), "not known: a shape depends on values");
  v.speed = {};
  EXPECT_TRUE(ToJson(v)["speed"].is_null());
  Json damaged = ToJson(Sample());
  damaged["speed"].erase("label");
  EXPECT_FALSE(FromJson(damaged).ok());
  // Records that were written before there was such a gate.
  Json old = ToJson(Sample());
  old.erase("speed");
  old["gates"].erase("speed");
  EXPECT_TRUE(FromJson(old).ok());
}

TEST(VerdictTest, MissingOrMistypedFieldsAreRefused) {
  const Json good = ToJson(Sample());
  for (const auto& [key, value] : good.items()) {
    if (key == "pass" || key == "time_label") continue;  // derived from the rest
    if (key == "speed" || key == "sampled") continue;    // may be absent
    Json missing = good;
    missing.erase(key);
    EXPECT_FALSE(FromJson(missing).ok()) << key;
    Json mistyped = good;
    mistyped[key] = nullptr;
    EXPECT_FALSE(FromJson(mistyped).ok()) << key;
  }
  EXPECT_FALSE(FromJson(Json::array()).ok());
  EXPECT_FALSE(FromJson(Json("text")).ok());
}

TEST(VerdictTest, ClassNamesAreUniqueAndParse) {
  for (int i = 0; i <= static_cast<int>(Class::kInfra); ++i) {
    Result<Class> parsed = ParseClass(ClassName(static_cast<Class>(i)));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(static_cast<int>(parsed.value()), i);
  }
  EXPECT_FALSE(ParseClass("Pass").ok());
}

TEST(VerdictTest, TextNamesClassLineAndReproducer) {
  const std::string text = ToText(Sample());
  EXPECT_NE(text.find("a.cu:12: race: m; block (0,0,0) thread (1,0,0) and block (0,0,0) thread "
                      "(2,0,0) at line 9"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("kuafu verify a b"), std::string::npos) << text;
}

}  // namespace
}  // namespace kuafu::verdict
