// SPDX-License-Identifier: Apache-2.0
// Goal: what a process that ran a foreign file has written cannot be believed. Method: one good
// document and one change at a time.
#include "task/operators_json.h"

#include <gtest/gtest.h>

namespace kuafu::task {
namespace {

Json Good() {
  return {{"version", 1},
          {"operators", Json::array({{{"op", "mm"},
                                      {"kind", "gemm"},
                                      {"dtype", "f32"},
                                      {"flops", 16},
                                      {"read", 32},
                                      {"written", 16},
                                      {"m", 2},
                                      {"n", 2},
                                      {"k", 2},
                                      {"batch", 1},
                                      {"uses", {0, 1}},
                                      {"use_bytes", {16, 16}},
                                      {"makes", {2}},
                                      {"in", {{2, 2}, {2, 2}}},
                                      {"out", {{2, 2}}}}})},
          {"results", {2}},
          {"input_bytes", 32},
          {"parameter_bytes", 0},
          {"torch", "1.13"}};
}

TEST(Operators, SurviveWritingAndReading) {
  Result<OperatorList> list = OperatorsFromJson(Good());
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list.value().operators[0].kind, OperatorKind::kGemm);
  EXPECT_EQ(list.value().operators[0].k, 2);
  const Json again = ToJson(list.value());
  EXPECT_EQ(ToJson(OperatorsFromJson(again).value()), again);
}

TEST(Operators, NonsenseIsRefused) {
  const std::pair<const char*, Json> changes[] = {
      {"kind", "magic"},      {"dtype", "f99"},           {"flops", -1},
      {"read", 1e30},         {"use_bytes", {1}},         {"uses", "x"},
      {"makes", {-5}},        {"in", Json::array({"x"})}, {"op", std::string(200, 'a')},
      {"k", int64_t{1} << 61}};
  for (const auto& [key, value] : changes) {
    Json document = Good();
    document["operators"][0][key] = value;
    EXPECT_FALSE(OperatorsFromJson(document).ok()) << key;
  }
  Json document = Good();
  document["version"] = 2;
  EXPECT_FALSE(OperatorsFromJson(document).ok());
  document = Good();
  document.erase("operators");
  EXPECT_FALSE(OperatorsFromJson(document).ok());
}

TEST(Operators, EveryKindHasAName) {
  for (int i = 0; i < kOperatorKinds; ++i) {
    const auto kind = static_cast<OperatorKind>(i);
    EXPECT_EQ(ParseOperatorKind(OperatorKindName(kind)), kind);
  }
  EXPECT_FALSE(ParseOperatorKind("magic").has_value());
}

}  // namespace
}  // namespace kuafu::task
