// SPDX-License-Identifier: Apache-2.0
// Goal: each kind of misbehaviour gets its class, causes win over symptoms, and nothing that is
// right fails. Method: run results made by hand against a truth of three numbers.
#include "verify/judge.h"

#include <gtest/gtest.h>

namespace kuafu::verify {
namespace {

using tensor::DType;
using tensor::HostTensor;
using verdict::Class;

HostTensor Vector(std::initializer_list<double> values, DType dtype = DType::kF32) {
  HostTensor t = HostTensor::Create(dtype, {static_cast<int64_t>(values.size())}).value();
  int64_t i = 0;
  for (const double v : values) t.Set(i++, v);
  return t;
}

class JudgeTest : public testing::Test {
 protected:
  JudgeTest() {
    plan_.order_seeds = {0, 7};
    frontend::Trial trial;
    trial.shape_label = "nominal";
    frontend::TrialOutput output;
    output.expected.y64 = Vector({1, 2, 3}, DType::kF64);
    output.expected.e32 = {1e-7};
    trial.outputs.push_back(output);
    set_.trials.push_back(trial);
  }

  static TrialRun Good(int order) {
    TrialRun run;
    run.order = order;
    run.launches = 1;
    run.same = order > 0;
    if (order == 0) run.outputs.push_back({.tensor = Vector({1, 2, 3}), .argument = -1});
    return run;
  }

  static verdict::Finding Race(int line) {
    verdict::Finding f;
    f.cls = Class::kRace;
    f.message = "two threads";
    f.line = line;
    return f;
  }

  Judgement Run(std::vector<TrialRun> runs, RunResult::End end = RunResult::End::kDone) {
    RunResult result;
    result.runs = std::move(runs);
    result.end = end;
    return Judge(result, plan_, set_);
  }

  RunPlan plan_;
  frontend::TrialSet set_;
};

TEST_F(JudgeTest, RightUnderEveryOrderPasses) {
  const Judgement j = Run({Good(0), Good(1)});
  EXPECT_EQ(j.cls, Class::kPass) << j.summary;
  EXPECT_EQ(j.trials_passed, 1);
  EXPECT_TRUE(j.nominal_allclose);
}

// A trial of which not every block was executed: `flags` say which values are known.
class SampledJudgeTest : public JudgeTest {
 protected:
  SampledJudgeTest() { set_.trials[0].sampled = true; }
  TrialRun Sampled(std::initializer_list<double> values, std::vector<uint8_t> flags,
                   double coverage = 1) {
    flags_ = std::move(flags);
    TrialRun run = Good(0);
    run.outputs[0].tensor = Vector(values);
    run.outputs[0].known = flags_;
    run.outputs[0].coverage = coverage;
    run.kernels.push_back({"k", 100, 10, 0});
    return run;
  }
  std::vector<uint8_t> flags_;
};

TEST_F(SampledJudgeTest, ValuesNobodyKnowsAreNotCompared) {
  const Judgement j = Run({Sampled({1, 99, 3}, {1, 0, 1})});
  EXPECT_EQ(j.cls, Class::kPass) << j.summary;
  EXPECT_EQ(j.trials_total, 1);
  EXPECT_EQ(j.trials_passed, 1);
  ASSERT_EQ(j.sampled.size(), 1u);
  EXPECT_NEAR(j.sampled[0].compared, 2.0 / 3, 1e-12);
  EXPECT_EQ(j.sampled[0].inconclusive, "");
}

TEST_F(SampledJudgeTest, AKnownWrongValueFailsHoweverLittleIsKnown) {
  const Judgement j = Run({Sampled({1, 2, 99}, {0, 0, 1}, 0.1)});
  EXPECT_EQ(j.cls, Class::kWrongResult);
  EXPECT_EQ(j.trials_total, 1);
  EXPECT_EQ(j.trials_right, 0);
}

TEST_F(SampledJudgeTest, NothingComparedIsNoPass) {
  const Judgement j = Run({Sampled({1, 2, 3}, {0, 0, 0})});
  EXPECT_EQ(j.cls, Class::kInconclusive);
  EXPECT_EQ(j.trials_total, 0);
  EXPECT_FALSE(j.compare_failed);
}

// Right wherever somebody looked, but most blocks write nothing at all.
TEST_F(SampledJudgeTest, BlocksThatStandForLittleAreNoPass) {
  const Judgement j = Run({Sampled({1, 2, 3}, {1, 0, 1}, 0.6)});
  EXPECT_EQ(j.cls, Class::kInconclusive);
  EXPECT_NE(j.summary.find("60 %"), std::string::npos) << j.summary;
}

TEST_F(SampledJudgeTest, ACallThatCannotBeFollowedIsNeitherForNorAgainst) {
  set_.trials.push_back(set_.trials[0]);
  set_.trials[1].sampled = false;
  TrialRun lost = Sampled({1, 2, 3}, {0, 0, 0});
  lost.status = TrialRun::Status::kThrew;
  lost.outputs.clear();
  lost.blind = "host code reads results";
  TrialRun first = Good(0), second = Good(1);
  first.trial = second.trial = 1;
  const Judgement j = Run({lost, first, second});
  EXPECT_EQ(j.cls, Class::kPass) << j.summary;
  EXPECT_EQ(j.trials_total, 1);
  EXPECT_EQ(j.trials_passed, 1);
  EXPECT_EQ(j.sampled[0].inconclusive, "host code reads results");
}

TEST_F(SampledJudgeTest, AFindingOfASampledBlockCounts) {
  TrialRun run = Sampled({1, 2, 3}, {0, 0, 0});
  run.findings.push_back(Race(12));
  EXPECT_EQ(Run({run}).cls, Class::kRace);
}

TEST_F(JudgeTest, WrongValueNamesItsPlace) {
  TrialRun wrong = Good(0);
  wrong.outputs[0].tensor.Set(1, 2.5);
  const Judgement j = Run({std::move(wrong), Good(1)});
  EXPECT_EQ(j.cls, Class::kWrongResult);
  EXPECT_EQ(j.failing_trial, 0);
  EXPECT_NE(j.error.where.find("[1]"), std::string::npos) << j.error.where;
  EXPECT_EQ(j.error.got, 2.5);
  EXPECT_FALSE(j.nominal_allclose);
}

TEST_F(JudgeTest, ARaceIsReportedEvenIfTheValuesAreRight) {
  TrialRun racy = Good(0);
  racy.findings = {Race(12)};
  const Judgement j = Run({std::move(racy), Good(1)});
  EXPECT_EQ(j.cls, Class::kRace);
  EXPECT_TRUE(j.nominal_allclose);
  EXPECT_TRUE(j.sanitize_failed);
  EXPECT_FALSE(j.compare_failed);
}

TEST_F(JudgeTest, TheCauseRanksBeforeTheWrongResult) {
  TrialRun wrong = Good(0);
  wrong.outputs[0].tensor.Set(1, 2.5);
  TrialRun racy = Good(1);
  racy.findings = {Race(12), Race(12)};
  const Judgement j = Run({std::move(wrong), std::move(racy)});
  EXPECT_EQ(j.cls, Class::kRace);
  EXPECT_EQ(j.failing_order_seed, 7u);
  EXPECT_EQ(j.findings.size(), 1u) << "one finding per defect";
}

TEST_F(JudgeTest, OtherBitsUnderAnotherOrderAreNondeterministic) {
  TrialRun other = Good(0);
  other.order = 1;
  other.outputs[0].tensor.Set(1, 2 * (1 + 1e-7));
  EXPECT_EQ(Run({Good(0), other}).cls, Class::kNondeterministic);
  TrialRun atomic = other;
  atomic.float_atomics = true;  // declared: by tolerance
  EXPECT_EQ(Run({Good(0), std::move(atomic)}).cls, Class::kPass);
}

TEST_F(JudgeTest, WrongShapeTypeAndCount) {
  TrialRun shape = Good(0), type = Good(0), count = Good(0);
  shape.outputs[0].tensor = Vector({1, 2});
  type.outputs[0].tensor = Vector({1, 2, 3}, DType::kF64);
  count.outputs.clear();
  EXPECT_EQ(Run({std::move(shape), Good(1)}).cls, Class::kWrongShape);
  EXPECT_EQ(Run({std::move(type), Good(1)}).cls, Class::kWrongDtype);
  EXPECT_EQ(Run({std::move(count), Good(1)}).cls, Class::kWrongShape);
}

TEST_F(JudgeTest, UnwrittenOutputAndModifiedInput) {
  TrialRun unwritten = Good(0), modified = Good(0);
  unwritten.outputs[0].never_written = 4;
  modified.inputs_modified = {"x"};
  EXPECT_EQ(Run({std::move(unwritten), Good(1)}).cls, Class::kUnwrittenOutput);
  EXPECT_EQ(Run({std::move(modified), Good(1)}).cls, Class::kInputModified);
}

TEST_F(JudgeTest, ACandidateThatStopsEarlyDoesNotPass) {
  EXPECT_EQ(Run({}).cls, Class::kRuntimeError);
  EXPECT_EQ(Run({Good(0)}).cls, Class::kRuntimeError);
  EXPECT_EQ(Run({Good(0)}, RunResult::End::kDied).cls, Class::kRuntimeError);
  EXPECT_EQ(Run({Good(0)}, RunResult::End::kGarbage).cls, Class::kRuntimeError);
  EXPECT_EQ(Run({Good(0), Good(1)}, RunResult::End::kTimeout).cls, Class::kTimeout);
}

TEST_F(JudgeTest, ThrowingAndMisfitEntries) {
  TrialRun threw = Good(0), misfit = Good(0);
  threw.status = TrialRun::Status::kThrew;
  misfit.status = TrialRun::Status::kMismatch;
  EXPECT_EQ(Run({std::move(threw)}).cls, Class::kRuntimeError);
  EXPECT_EQ(Run({std::move(misfit)}).cls, Class::kFormatError);
}

}  // namespace
}  // namespace kuafu::verify
