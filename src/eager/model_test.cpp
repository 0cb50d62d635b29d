// SPDX-License-Identifier: Apache-2.0
// Goal: the model never contradicts physics. Method: operations computed by hand, and the same
// operation with more bytes, more FLOP, or on a faster machine.
#include "eager/model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kuafu::eager {
namespace {

using task::Operator;
using task::OperatorKind;

Machine H100() { return MachineOf(*device::FindProfile("h100")); }

Operator Map(int64_t bytes) {
  return {.op = "relu",
          .kind = OperatorKind::kElementwise,
          .flops = bytes / 4,
          .read_bytes = bytes,
          .written_bytes = bytes,
          .uses = {0},
          .use_bytes = {bytes},
          .makes = {1}};
}

Operator Product(int64_t m, int64_t n, int64_t k) {
  const int64_t left = 4 * m * k, right = 4 * k * n;
  return {.op = "mm",
          .kind = OperatorKind::kGemm,
          .flops = 2 * m * n * k,
          .read_bytes = left + right,
          .written_bytes = 4 * m * n,
          .m = m,
          .n = n,
          .k = k,
          .batch = 1,
          .uses = {0, 1},
          .use_bytes = {left, right},
          .makes = {2}};
}

double Ms(std::vector<Operator> operators, const Machine& machine = H100()) {
  task::OperatorList list;
  list.operators = std::move(operators);
  return Model(list, machine, Constants()).ms;
}

// Every kind with plausible shapes, about a hundred megabytes.
std::vector<Operator> OneOfEach() {
  std::vector<Operator> all;
  for (int i = 0; i < task::kOperatorKinds; ++i) {
    Operator op = Map(int64_t{100} << 20);
    op.kind = static_cast<OperatorKind>(i);
    op.m = op.n = op.k = 2048;
    op.batch = 1;
    op.rows = 4096;
    op.row = 6400;
    op.inner = 1;
    op.taps = 9;
    op.dims = 2;
    op.in_channels = op.out_channels = 64;
    op.steps = 10;
    op.layers = 2;
    op.flops = int64_t{2} * 2048 * 2048 * 2048;
    all.push_back(op);
  }
  return all;
}

TEST(EagerModel, AGigabyteThroughAMapTakesWhatBandwidthAllows) {
  const Machine machine = H100();
  const int64_t bytes = int64_t{1} << 30;
  const double share = Constants()[machine.bandwidth];
  const double expected_ms = 2.0 * static_cast<double>(bytes) / (3350e9 * share) * 1e3;
  EXPECT_NEAR(Ms({Map(bytes)}), expected_ms, 1e-6 * expected_ms);
}

TEST(EagerModel, ALargeProductTakesWhatThePeakAllows) {
  const Machine machine = H100();
  const double ideal_ms = 2.0 * std::pow(8192.0, 3) / (67e12 * Constants()[machine.compute]) * 1e3;
  const double ms = Ms({Product(8192, 8192, 8192)});
  EXPECT_GE(ms, ideal_ms);
  EXPECT_LE(ms, 1.15 * ideal_ms);
}

TEST(EagerModel, NothingBeatsBandwidthOrThePeak) {
  for (const Operator& op : OneOfEach()) {
    const double bytes = static_cast<double>(op.read_bytes + op.written_bytes);
    EXPECT_GE(Ms({op}) * 1e-3, bytes / 3350e9) << task::OperatorKindName(op.kind);
  }
  EXPECT_GE(Ms({Product(4096, 4096, 4096)}) * 1e-3, 2 * std::pow(4096.0, 3) / 67e12);
}

TEST(EagerModel, TensorCoresTakeProductsOnlyWhereTf32IsAllowed) {
  Operator product = Product(8192, 8192, 8192);
  const double plain = Ms({product});
  product.tf32 = true;
  EXPECT_LT(Ms({product}), plain / 2);
}

TEST(EagerModel, ConvolutionsInTheOrderOfTensorCoresCopyNothing) {
  Operator conv;
  conv.op = "convolution";
  conv.kind = OperatorKind::kConv;
  conv.read_bytes = conv.written_bytes = int64_t{1} << 28;
  conv.m = 1 << 20;
  conv.n = conv.k = conv.in_channels = conv.out_channels = 64;
  conv.batch = conv.taps = 1;
  conv.dims = 2;
  conv.flops = 2 * conv.m * conv.n * conv.k;
  const double copied = Ms({conv});
  conv.channels_last = true;
  EXPECT_LT(Ms({conv}), 0.6 * copied);
}

TEST(EagerModel, MoreBytesNeverGetFaster) {
  for (const Operator& op : OneOfEach()) {
    double before = 0;
    for (const int64_t mib : {0, 1, 10, 29, 31, 60, 100, 1000, 100000}) {
      Operator larger = op;
      larger.read_bytes = larger.written_bytes = larger.use_bytes[0] = mib << 20;
      const double ms = Ms({larger});
      EXPECT_GE(ms, before) << task::OperatorKindName(op.kind) << " " << mib;
      before = ms;
    }
  }
}

TEST(EagerModel, MoreWorkNeverGetsFaster) {
  double before = 0;
  for (const int64_t size : {1, 16, 64, 100, 128, 129, 500, 1024, 1025, 3000, 8192}) {
    const double ms = Ms({Product(size, 1024, 1024)});
    EXPECT_GE(ms, before * 0.999) << size;
    before = ms;
  }
  before = 0;
  for (const int64_t k : {1, 8, 63, 64, 65, 128, 1000, 1024, 4096, 65536}) {
    const double ms = Ms({Product(512, 512, k)});
    EXPECT_GE(ms, before) << k;
    before = ms;
  }
}

TEST(EagerModel, AFasterMachineIsNeverSlower) {
  const device::Profile base = *device::FindProfile("h100");
  const Machine slow = H100();
  for (double device::Profile::* figure :
       {&device::Profile::dram_gb_per_s, &device::Profile::fp32_tflops,
        &device::Profile::fp16_tensor_tflops}) {
    device::Profile better = base;
    better.*figure *= 1.5;
    Machine fast = slow;
    fast.gpu = better;
    for (const Operator& op : OneOfEach())
      EXPECT_LE(Ms({op}, fast), Ms({op}, slow)) << task::OperatorKindName(op.kind);
  }
}

TEST(EagerModel, TheHostLimitsManySmallOperations) {
  std::vector<Operator> many(1000, Map(4096));
  const double call_us = Constants()[H100().call_us];
  EXPECT_NEAR(Ms(many), 1000 * call_us * 1e-3, 0.15 * 1000 * call_us * 1e-3);
  for (Operator& op : many) op.views = 3;
  EXPECT_GT(Ms(many), 1000 * call_us * 1e-3);
}

TEST(EagerModel, WhatWasJustWrittenIsReadFromL2) {
  Operator first = Map(8 << 20), second = first;
  second.uses = {1};
  second.makes = {2};
  Operator elsewhere = second;
  elsewhere.uses = {7};
  EXPECT_LT(Ms({first, second}), Ms({first, elsewhere}));
  first = Map(int64_t{1} << 30);  // too large to stay
  second = first;
  second.uses = {1};
  elsewhere = second;
  elsewhere.uses = {7};
  EXPECT_DOUBLE_EQ(Ms({first, second}), Ms({first, elsewhere}));
}

TEST(EagerModel, PartsAddUpAndCarryAnUncertainty) {
  task::OperatorList list;
  list.operators = OneOfEach();
  const Estimate estimate = Model(list, H100(), Constants());
  double sum = 0;
  for (const OperatorTime& one : estimate.operators) sum += one.us;
  EXPECT_NEAR(sum * 1e-3, estimate.ms, 1e-9 * sum);
  EXPECT_GT(estimate.uncertainty, 1.0);
  EXPECT_LT(estimate.uncertainty, 3.0);
}

TEST(EagerModel, AFewLongRowsOfLayerNormKeepAFewSmallBlocksBusy) {
  // 16 rows of 4 Mi: read twice and written once by 16 blocks, of 128 threads each.
  Operator norm{.op = "native_layer_norm", .kind = task::OperatorKind::kNorm};
  norm.rows = 16;
  norm.row = 4 << 20;
  norm.read_bytes = norm.written_bytes = norm.rows * norm.row * 4;
  norm.uses = {0};
  norm.use_bytes = {norm.read_bytes};
  const double per_block = Constants()[Constant::block_gb_per_s] * 1e6 / 8;  // bytes a ms
  EXPECT_NEAR(Ms({norm}), 3.0 * static_cast<double>(norm.read_bytes) / (16 * per_block), 0.2);
  Operator softmax = norm;
  softmax.op = "_softmax";
  softmax.kind = task::OperatorKind::kSoftmax;
  EXPECT_LT(Ms({softmax}), Ms({norm}));
}

TEST(EagerModel, GuessedFiguresAndBorrowedOnesAreSaidAndWidenTheUncertainty) {
  const Machine h100 = H100(), a100 = MachineOf(*device::FindProfile("a100"));
  const Machine s4000 = MachineOf(*device::FindProfile("mtt-s4000"));
  EXPECT_FALSE(h100.assumed);
  EXPECT_TRUE(a100.assumed);
  EXPECT_TRUE(a100.guesses.empty());
  EXPECT_FALSE(s4000.guesses.empty());
  task::OperatorList list;
  list.operators = {Map(int64_t{1} << 30)};
  const auto factor = [&](const Machine& machine) {
    return Model(list, machine, Constants()).uncertainty;
  };
  EXPECT_LT(factor(h100), factor(a100));
  EXPECT_LT(factor(a100) * 1.4, factor(s4000));
}

TEST(EagerModel, ConstantsAreWithinTheirLimitsAndHaveAHash) {
  for (const ConstantInfo& info : kConstants) {
    EXPECT_LE(info.low, info.value) << info.name;
    EXPECT_GE(info.high, info.value) << info.name;
  }
  Constants changed;
  EXPECT_EQ(changed.Hash(), Constants().Hash());
  changed.Set(0, changed.at(0) * 1.01);
  EXPECT_NE(changed.Hash(), Constants().Hash());
}

TEST(EagerModel, FusionKeepsWhatIsUsedLaterAndNothingElse) {
  task::OperatorList list;
  Operator a = Map(1000), b = Map(1000), c = Map(1000);
  b.uses = {1};
  b.makes = {2};
  c.uses = {2};
  c.makes = {3};
  list.operators = {a, b, c};
  list.results = {3};
  task::OperatorList fused = Fused(list);
  ASSERT_EQ(fused.operators.size(), 1u);
  EXPECT_EQ(fused.operators[0].read_bytes, 1000);
  EXPECT_EQ(fused.operators[0].written_bytes, 1000);
  list.results = {2, 3};
  fused = Fused(list);
  EXPECT_EQ(fused.operators[0].written_bytes, 2000);
  list.operators.insert(list.operators.begin() + 1, Product(8, 8, 8));
  EXPECT_EQ(Fused(list).operators.size(), 3u);
}

}  // namespace
}  // namespace kuafu::eager
