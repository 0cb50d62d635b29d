// SPDX-License-Identifier: Apache-2.0
// Goal: a request for a job is exact about its fields, and a job survives its own JSON. Method:
// accepted and refused documents.
#include "verify/job.h"

#include <gtest/gtest.h>

namespace kuafu::verify {
namespace {

Result<JobSpec> Parse(const char* text) { return ParseJob(ParseJson(text).value()); }

TEST(Job, FieldsHaveDefaultsAndNullIsAbsent) {
  const JobSpec spec = Parse(R"({"reference": "r", "candidate": "", "target": null})").value();
  EXPECT_EQ(spec.form, "cuda");
  EXPECT_EQ(spec.plan, "quick");
  EXPECT_TRUE(spec.sanitize);
  EXPECT_EQ(spec.id, "");
}

TEST(Job, SurvivesItsOwnJson) {
  const JobSpec spec =
      Parse(R"({"id": "a.b:c-1", "task": "t", "reference": "r", "candidate": "c\u0000d",
                "form": "musa", "target": "sim:mtt-s4000,sim:h100", "plan": "full",
                "policy": "strict", "sanitize": false, "nominal": true, "seed": 9223372036854775807,
                "timeout_s": 600})")
          .value();
  const JobSpec again = ParseJob(ParseJson(DumpJson(ToJson(spec))).value()).value();
  EXPECT_EQ(DumpJson(ToJson(again)), DumpJson(ToJson(spec)));
  EXPECT_EQ(ContentHash(again), ContentHash(spec));
  JobSpec other = spec;
  other.id = "another";
  EXPECT_EQ(ContentHash(other), ContentHash(spec));
  other.nominal = false;
  EXPECT_NE(ContentHash(other), ContentHash(spec));
  other = spec;
  other.candidate += " ";
  EXPECT_NE(ContentHash(other), ContentHash(spec));
}

TEST(Job, WhatIsWrongIsNamed) {
  const struct {
    const char* text;
    const char* named;
  } cases[] = {
      {"[]", ""},
      {R"({"reference": "r"})", "candidate"},
      {R"({"candidate": "c"})", "reference"},
      {R"({"reference": "", "candidate": "c"})", "reference"},
      {R"({"reference": 1, "candidate": "c"})", "reference"},
      {R"({"reference": "r", "candidate": ["c"]})", "candidate"},
      {R"({"reference": "r", "candidate": "c", "referenec": "r"})", "referenec"},
      {R"({"reference": "r", "candidate": "c", "form": "hip"})", "form"},
      {R"({"reference": "r", "candidate": "c", "plan": "slow"})", "plan"},
      {R"({"reference": "r", "candidate": "c", "policy": "/etc/passwd"})", "policy"},
      {R"({"reference": "r", "candidate": "c", "target": "sim:h1000"})", "h1000"},
      {R"({"reference": "r", "candidate": "c", "sanitize": 1})", "sanitize"},
      {R"({"reference": "r", "candidate": "c", "nominal": "yes"})", "nominal"},
      {R"({"reference": "r", "candidate": "c", "seed": -1})", "seed"},
      {R"({"reference": "r", "candidate": "c", "seed": 1.5})", "seed"},
      {R"({"reference": "r", "candidate": "c", "timeout_s": 601})", "timeout_s"},
      {R"({"reference": "r", "candidate": "c", "id": "../a"})", "id"},
      {R"({"reference": "r", "candidate": "c", "id": "a\nb"})", "id"},
  };
  for (const auto& c : cases) {
    const Result<JobSpec> spec = Parse(c.text);
    ASSERT_FALSE(spec.ok()) << c.text;
    EXPECT_EQ(spec.error().code, Code::kInvalidInput) << c.text;
    EXPECT_NE(spec.error().message.find(c.named), std::string::npos) << spec.error().message;
  }
  EXPECT_FALSE(CheckJobId("").ok());
  EXPECT_FALSE(CheckJobId(std::string(kJobIdCharsMax + 1, 'a')).ok());
}

}  // namespace
}  // namespace kuafu::verify
