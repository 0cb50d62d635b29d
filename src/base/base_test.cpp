// SPDX-License-Identifier: Apache-2.0
// Goal: the vocabulary everything builds on keeps its promises. Method: known answers (published
// test vectors for Philox and SplitMix64), and rejected inputs beside accepted ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/text.h"

namespace kuafu {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Error{Code::kInvalidInput, "odd"};
  return value / 2;
}

Result<int> Quarter(int value) {
  KUAFU_TRY(int half, Half(value));
  KUAFU_TRY(int quarter, Half(half));
  return quarter;
}

TEST(Result, PropagatesTheFirstError) {
  ASSERT_TRUE(Quarter(8).ok());
  EXPECT_EQ(Quarter(8).value(), 2);
  Result<int> failed = Quarter(6);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(std::move(failed).error().WithContext("quarter").ToString(),
            "invalid_input: quarter: odd");
}

TEST(CheckDeathTest, NamesTheReason) {
  EXPECT_DEATH(KUAFU_CHECK(1 == 2, "numbers differ"), "numbers differ");
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(Split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(Split("", ',').size(), 1u);
  EXPECT_EQ(SplitLines("a\r\nb\n"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_TRUE(SplitLines("").empty());
}

TEST(Text, ParseTakesWholeNumbersOnly) {
  EXPECT_EQ(ParseInt64("-12"), -12);
  EXPECT_EQ(ParseInt64("12x"), std::nullopt);
  EXPECT_EQ(ParseInt64(""), std::nullopt);
  EXPECT_EQ(ParseInt64("9223372036854775808"), std::nullopt);
  EXPECT_EQ(ParseDouble("1e-5"), 1e-5);
}

TEST(Text, FormatsStayInTheirUnit) {
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(FormatDurationNs(999), "999 ns");
  EXPECT_EQ(FormatDurationNs(999'999), "1.00 ms");
  EXPECT_EQ(FormatDurationNs(125'000'000'000), "2 m 05 s");
}

TEST(Text, EscapesHostileText) {
  EXPECT_EQ(EscapeForMessage("a\x1b[31m\n"), "a\\x1b[31m\\n");
  EXPECT_EQ(EscapeForMessage(std::string(500, 'x'), 10), "xxxxxxxxxx...");
}

TEST(Text, Utf8) {
  EXPECT_TRUE(IsUtf8("z\xC3\xBC"));
  EXPECT_FALSE(IsUtf8("\xC0\xAF"));          // overlong
  EXPECT_FALSE(IsUtf8("\xED\xA0\x80"));      // surrogate
  EXPECT_FALSE(IsUtf8("\xF4\x90\x80\x80"));  // above U+10FFFF
  EXPECT_FALSE(IsUtf8("\xE2\x82"));          // cut
}

TEST(Rng, PhiloxMatchesTheReferenceVectors) {
  // Random123's kat_vectors for philox4x32-10.
  EXPECT_EQ(Philox4x32Block({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(Philox4x32Block({0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu},
                            {0xffffffffu, 0xffffffffu}),
            (std::array<uint32_t, 4>{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
}

TEST(Rng, SplitMixMatchesTheReferenceVector) {
  SplitMix64 rng(1234567);
  EXPECT_EQ(rng.Next(), 6457827717110365317u);
  EXPECT_EQ(rng.Next(), 3203168211198807973u);
}

TEST(Rng, ShuffleIsASeededPermutation) {
  std::vector<int> a(100), b(100), c(100);
  for (auto* v : {&a, &b, &c}) std::iota(v->begin(), v->end(), 0);
  SplitMix64(7).Shuffle(std::span(a));
  SplitMix64(7).Shuffle(std::span(b));
  SplitMix64(8).Shuffle(std::span(c));
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  std::sort(a.begin(), a.end());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a[static_cast<size_t>(i)], i);
}

TEST(Hash, KnownAnswerAndDelimitedParts) {
  EXPECT_EQ(HashHex(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(Hasher().Add("ab").Add("c").Hex(), Hasher().Add("a").Add("bc").Hex());
  EXPECT_EQ(Hasher().Add("ab").Add(3).Hex(), Hasher().Add("ab").Add(3).Hex());
}

TEST(Json, RejectsWhatItMust) {
  EXPECT_TRUE(ParseJson(R"({"a": [1, 2.5, "x", null, true]})").ok());
  for (const char* bad : {"", "{", "{\"a\":1,\"a\":2}", "[1] 2", "nul", "\"\xff\"", "[1,]"}) {
    Result<Json> result = ParseJson(bad);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.error().code, Code::kInvalidInput);
  }
  EXPECT_TRUE(ParseJson(std::string(64, '[') + std::string(64, ']')).ok());
  Result<Json> deep = ParseJson(std::string(100000, '['));
  ASSERT_FALSE(deep.ok());
  EXPECT_NE(deep.error().message.find("64 levels"), std::string::npos);
  EXPECT_FALSE(ParseJson("[1,2,3]", 3).ok());
}

TEST(Json, FieldErrorsNameTheKey) {
  Json object = Json::parse(R"({"n": 3, "s": "x", "big": 18446744073709551615})");
  EXPECT_EQ(JsonInt(object, "n").value(), 3);
  EXPECT_EQ(JsonString(object, "s").value(), "x");
  EXPECT_FALSE(JsonInt(object, "big").ok());
  EXPECT_FALSE(JsonInt(Json::array(), "n").ok());
  EXPECT_NE(JsonInt(object, "s").error().message.find("'s'"), std::string::npos);
  constexpr std::array<std::string_view, 2> kKnown = {"n", "s"};
  EXPECT_FALSE(JsonOnlyKeys(object, kKnown).ok());
}

TEST(Json, DumpSurvivesInvalidUtf8) {
  Json object;
  object["text"] = "a\xff";
  EXPECT_TRUE(ParseJson(DumpJson(object)).ok());
}

}  // namespace
}  // namespace kuafu
