// SPDX-License-Identifier: Apache-2.0
// The record round-trips; the tolerance accepts reordered sums and rejects wrong answers.
#include "task/task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "task/compare.h"

namespace kuafu::task {
namespace {

using tensor::DType;
using tensor::HostTensor;

constexpr int kRows = 64;
constexpr int kTerms = 1000;

// Row sums of positive terms in fp32 serial order, in a tree, and in fp64.
struct Sums {
  HostTensor serial = HostTensor::Create(DType::kF32, {kRows, 1}).value();
  Expected expected;
  Sums() {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(0, 1);
    expected.y64 = HostTensor::Create(DType::kF64, {kRows, 1}).value();
    expected.reduction = kTerms;
    for (int r = 0; r < kRows; ++r) {
      float sum = 0;
      double truth = 0;
      float lanes[8] = {};
      double squares = 0;
      for (int i = 0; i < kTerms; ++i) {
        const float x = uniform(random);
        sum += x;
        lanes[i % 8] += x;
        truth += static_cast<double>(x);
        squares += static_cast<double>(x) * static_cast<double>(x);
      }
      float tree = 0;
      for (float lane : lanes) tree += lane;
      serial.Set(r, static_cast<double>(sum));
      expected.y64.Set(r, truth);
      expected.e32.push_back(std::fabs(static_cast<double>(tree) - truth));
      expected.terms_rms.push_back(std::sqrt(squares / kTerms));
    }
  }
};

TEST(Compare, AcceptsSerialSumRejectsWrongAnswers) {
  Sums sums;
  EXPECT_TRUE(CompareOutput(sums.serial, sums.expected).ok);
  HostTensor zeros = HostTensor::Create(DType::kF32, {kRows, 1}).value();
  const CompareResult wrong = CompareOutput(zeros, sums.expected);
  EXPECT_EQ(wrong.failure, Mismatch::kWrongResult);
  EXPECT_EQ(wrong.wrong_count, kRows);
  sums.serial.Set(5, sums.serial.At(5) * 1.0001);
  const CompareResult one = CompareOutput(sums.serial, sums.expected);
  EXPECT_FALSE(one.ok);
  EXPECT_EQ(one.where, (tensor::Shape{5, 0}));
  sums.serial.Set(5, NAN);
  EXPECT_FALSE(CompareOutput(sums.serial, sums.expected).ok);
}

TEST(Compare, ShapeDTypeSpecialValues) {
  Sums sums;
  EXPECT_EQ(CompareOutput(HostTensor::Create(DType::kF32, {kRows}).value(), sums.expected).failure,
            Mismatch::kWrongShape);
  EXPECT_EQ(
      CompareOutput(HostTensor::Create(DType::kF64, {kRows, 1}).value(), sums.expected).failure,
      Mismatch::kWrongDType);
  Expected special{.y64 = HostTensor::Create(DType::kF64, {2}).value()};
  special.y64.Set(0, NAN);
  special.y64.Set(1, INFINITY);
  HostTensor y = HostTensor::Create(DType::kF32, {2}).value();
  y.Set(0, NAN);
  y.Set(1, INFINITY);
  EXPECT_TRUE(CompareOutput(y, special).ok);
  y.Set(1, -INFINITY);
  EXPECT_FALSE(CompareOutput(y, special).ok);
}

TEST(Compare, HalfResultsOfLongSumsAreNotExcused) {
  // The sum is held in fp32: with u of fp16 a sum of 10^4 terms would be allowed to be 5 % off.
  Expected expected{.dtype = DType::kF16, .y64 = HostTensor::Create(DType::kF64, {4}).value()};
  expected.reduction = 10000;
  expected.terms_rms = {0.05};
  HostTensor y = HostTensor::Create(DType::kF16, {4}).value();
  for (int i = 0; i < 4; ++i) {
    expected.y64.Set(i, 500);
    y.Set(i, 500.25);
  }
  EXPECT_TRUE(CompareOutput(y, expected).ok);
  y.Set(2, 502);
  EXPECT_FALSE(CompareOutput(y, expected).ok);
}

TEST(Compare, SubnormalResultsRoundAbsolutely) {
  Expected expected{.y64 = HostTensor::Create(DType::kF64, {2}).value()};
  HostTensor y = HostTensor::Create(DType::kF32, {2}).value();
  for (int i = 0; i < 2; ++i) {
    expected.y64.Set(i, 1.4 * std::ldexp(1.0, -149));
    y.Set(i, std::ldexp(1.0, -149));
  }
  EXPECT_TRUE(CompareOutput(y, expected).ok);
  y.Set(0, std::ldexp(5.0, -149));
  EXPECT_FALSE(CompareOutput(y, expected).ok);
}

TEST(Compare, UnderflowBesideOrdinaryResultsIsNoError) {
  Expected expected{.y64 = HostTensor::Create(DType::kF64, {2}).value()};
  HostTensor y = HostTensor::Create(DType::kF32, {2}).value();
  expected.y64.Set(0, 1.0);
  y.Set(0, 1.0);
  expected.y64.Set(1, -1e-40);
  EXPECT_TRUE(CompareOutput(y, expected).ok);
  expected.y64.Set(1, -1e-37);
  EXPECT_FALSE(CompareOutput(y, expected).ok);
}

TEST(Task, JsonRoundTripAndLimits) {
  Task task{.name = "t", .source_hash = "h"};
  task.arguments.push_back({.name = "x", .shape = {2, 3}});
  task.trace.push_back(
      {.op = "aten.sum", .inputs = {0}, .results = {1}, .shapes = {{2}}, .reduction = 3});
  task.outputs.push_back({.name = "y", .shape = {2}});
  const Json document = ToJson(task);
  auto back = FromJson(document);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(DumpJson(ToJson(back.value())), DumpJson(document));
  Json bad = document;
  bad["arguments"][0]["shape"] = {-1};
  EXPECT_FALSE(FromJson(bad).ok());
  bad = document;
  bad["version"] = 2;
  EXPECT_FALSE(FromJson(bad).ok());
}

HostTensor Pair(DType dtype, double first, double second) {
  HostTensor t = HostTensor::Create(dtype, {2}).value();
  t.Set(0, first);
  t.Set(1, second);
  return t;
}

TEST(Compare, AllCloseIsThatOfTorch) {
  Expected want;
  want.y64 = Pair(DType::kF64, 1, 100);
  const auto close = [&](double a, double b) {
    return AllClose(Pair(DType::kF32, a, b), want, 1e-2);
  };
  EXPECT_TRUE(close(1, 101));
  EXPECT_TRUE(close(1, 101.019));  // not symmetric: 1.019 <= 0.01 + 0.01 * 101.019
  EXPECT_FALSE(close(1, 98.981));  // 1.019 > 0.01 + 0.01 * 98.981
  EXPECT_FALSE(close(1.03, 100));
  EXPECT_FALSE(close(NAN, 100));
  EXPECT_FALSE(close(INFINITY, 100));
  EXPECT_FALSE(AllClose(HostTensor::Create(DType::kF32, {1}).value(), want, 1e-2));
  want.y64 = Pair(DType::kF64, NAN, INFINITY);
  EXPECT_FALSE(close(NAN, INFINITY));
  want.y64 = Pair(DType::kF64, 1, INFINITY);
  EXPECT_TRUE(close(1, INFINITY));
  EXPECT_FALSE(close(1, -INFINITY));
}

}  // namespace
}  // namespace kuafu::task
