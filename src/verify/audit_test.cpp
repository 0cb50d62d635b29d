// SPDX-License-Identifier: Apache-2.0
// Goal: an audit finds the answers that nobody has to compute, and only those. Method: small
// references whose trivial answer is known, through real PyTorch.
#include "verify/audit.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "os/clock.h"

namespace kuafu::verify {
namespace {

Audit AuditOf(const std::string& forward, const std::string& init = "pass") {
  static const std::unique_ptr<frontend::Helper> helper = frontend::Helper::Start({}).value();
  frontend::TrialRequest request;
  request.source =
      "import torch\nimport torch.nn as nn\nrows, columns = 64, 512\n"
      "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        " +
      init + "\n    def forward(self, x):\n        return " + forward +
      "\ndef get_inputs():\n    return [torch.rand(rows, columns)]\n"
      "def get_init_inputs():\n    return []\n";
  request.seed = 3;
  request.alternatives = true;
  auto ours = helper->MakeTrials(request, os::Deadline::AfterMs(60'000));
  EXPECT_TRUE(ours.ok()) << ours.error().message;
  request.compat_kernelbench = true;
  auto theirs = helper->MakeTrials(request, os::Deadline::AfterMs(60'000));
  EXPECT_TRUE(theirs.ok()) << theirs.error().message;
  return AuditTask(ours.value(), &theirs.value());
}

const TrivialAnswer* Find(const Audit& audit, std::string_view name) {
  for (const TrivialAnswer& answer : audit.answers) {
    if (answer.name == name) return &answer;
  }
  return nullptr;
}

TEST(Audit, ReluOfPositiveInputsIsTheInputForTheBenchmarkOnly) {
  const Audit audit = AuditOf("torch.relu(x)");
  EXPECT_EQ(audit.standing, Standing::kRepaired);
  const TrivialAnswer* answer = Find(audit, "input x");
  ASSERT_NE(answer, nullptr);
  EXPECT_TRUE(answer->passes_strict);
  EXPECT_FALSE(answer->passes_ours);
  EXPECT_FALSE(answer->caught_by.empty());
}

TEST(Audit, SoundTaskHasNoTrivialAnswer) {
  const Audit audit = AuditOf("torch.sin(5 * x) * 3");
  EXPECT_EQ(audit.standing, Standing::kSound) << DumpJson(ToJson(audit));
}

TEST(Audit, ZeroByAlgebraIsDegenerateForEverybody) {
  const Audit audit = AuditOf("(x.max(1, keepdim=True).values * 0)");
  EXPECT_EQ(audit.standing, Standing::kDegenerate);
  const TrivialAnswer* zeros = Find(audit, "zeros");
  ASSERT_NE(zeros, nullptr);
  EXPECT_TRUE(zeros->passes_ours && zeros->passes_strict && zeros->passes_loose);
}

TEST(Audit, ScaleOfOnesIsNotUsedAtTheBenchmark) {
  const Audit audit = AuditOf("self.norm(x)", "self.norm = nn.LayerNorm(columns)");
  EXPECT_EQ(audit.standing, Standing::kRepaired) << DumpJson(ToJson(audit));
  const TrivialAnswer* answer = Find(audit, "answer with other parameters");
  ASSERT_NE(answer, nullptr);
  EXPECT_TRUE(answer->passes_strict);
  EXPECT_FALSE(answer->passes_ours);
}

TEST(Audit, OneRowForAll) {
  const Audit audit = AuditOf("x.mean(0, keepdim=True).expand(x.shape)");
  EXPECT_EQ(audit.standing, Standing::kDegenerate) << DumpJson(ToJson(audit));
  EXPECT_NE(Find(audit, "row 0 copied along 0"), nullptr);
  EXPECT_EQ(Find(audit, "row 0 copied along 1"), nullptr);
}

TEST(Audit, LooseToleranceAdmitsAConstantMean) {
  const Audit audit = AuditOf("(x * 0.01).mean(1)");
  const TrivialAnswer* constant = Find(audit, "constant");
  ASSERT_NE(constant, nullptr);
  EXPECT_TRUE(constant->passes_loose);
  EXPECT_FALSE(constant->passes_strict);
  EXPECT_FALSE(constant->passes_ours);
}

}  // namespace
}  // namespace kuafu::verify
