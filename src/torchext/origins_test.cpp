// SPDX-License-Identifier: Apache-2.0
#include "torchext/origins.h"

#include <gtest/gtest.h>

#include "simt/simt.h"

namespace kuafu::torchext {
namespace {

class OriginsTest : public ::testing::Test {
 protected:
  uint32_t Allocate() {
    auto block = session_.memory().Allocate(64, 256, "a block", true);
    EXPECT_TRUE(block.ok());
    return session_.memory().IdOf(reinterpret_cast<uint64_t>(block.value()));
  }

  hostabi::Session session_{{}};
  Origins origins_{session_};
};

TEST_F(OriginsTest, ResultOfAKernelThatReadsTheInputIsTheKernels) {
  const uint32_t input = Allocate();
  origins_.Begin();
  const uint32_t output = Allocate();
  origins_.Launched({input}, {output});
  EXPECT_EQ(origins_.Of(output), kKernel);
  EXPECT_EQ(origins_.Of(input), kState);
}

TEST_F(OriginsTest, ResultOfAKernelThatReadsNothingIsAConstant) {
  origins_.Begin();
  const uint32_t output = Allocate(), zeros = Allocate();
  origins_.Filled(zeros);
  origins_.Launched({zeros}, {output});
  EXPECT_EQ(origins_.Of(output), kKernelConstant);
}

TEST_F(OriginsTest, CopyKernelBehindAnOperatorKeepsTheOperatorsName) {
  const uint32_t input = Allocate();
  origins_.Begin();
  const uint32_t product = Allocate(), output = Allocate();
  origins_.Operated({input}, {product}, "aten::mm");
  origins_.Launched({product}, {output});
  EXPECT_NE(origins_.Of(output) & kOperator, 0);
  EXPECT_EQ(origins_.OperatorOf(output), "aten::mm");
}

TEST_F(OriginsTest, WhatAnEarlierCallLeftIsStateAndNotAResult) {
  const uint32_t input = Allocate();
  origins_.Begin();
  const uint32_t cached = Allocate();
  origins_.Launched({input}, {cached});
  origins_.Begin();
  EXPECT_EQ(origins_.Of(cached), kState);
}

TEST_F(OriginsTest, CopyOutOfHostMemoryIsTheHosts) {
  origins_.Begin();
  const uint32_t output = Allocate(), next = Allocate();
  origins_.Copied(output, 0);
  origins_.Copied(next, output);
  EXPECT_EQ(origins_.Of(next), kHost);
  EXPECT_EQ(Origins::Names(origins_.Of(next)), std::vector<std::string>{"host"});
}

TEST_F(OriginsTest, AccumulationIntoZerosStillDerivesFromTheInput) {
  const uint32_t input = Allocate();
  origins_.Begin();
  const uint32_t output = Allocate();
  origins_.Filled(output);
  origins_.Launched({input, output}, {output});
  EXPECT_EQ(origins_.Of(output), kConstant | kKernel);
}

}  // namespace
}  // namespace kuafu::torchext
