// SPDX-License-Identifier: Apache-2.0
// Launches of which only some blocks are executed: what is known afterwards must be right, and what
// may be wrong must not be known. The kernels are hand-written modules on a grid of 1000 blocks.
#include "simt/sample.h"

#include <gtest/gtest.h>

#include <cstring>

#include "simt/module_builder.h"
#include "simt/simt.h"

namespace kuafu::simt {
namespace {

using namespace testing;  // NOLINT
using isa::AtomicOp;
using isa::SpecialReg;

constexpr int kBlocks = 1000, kThreads = 32, kCount = kBlocks * kThreads;
constexpr uint64_t kFew = 1000, kPlenty = 1ull << 40;  // lane instructions

class Sample : public ::testing::Test {
 protected:
  Sample() {
    options_.sampling = {.on = true, .seed = 7, .lanes_whole = kFew, .lanes_max = kPlenty};
  }
  int32_t* Make(size_t n, const char* name, bool initialized = false) {
    return static_cast<int32_t*>(memory_.Allocate(n * 4, 256, name, initialized).value());
  }
  LaunchResult Go(Builder& b, std::span<const uint8_t> args) {
    auto program = Program::Load(memory_, b.module());
    EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
    LaunchResult r = program.value()->Launch("k", {kBlocks}, {kThreads}, 0, args, options_);
    for (const Finding& f : r.findings) ADD_FAILURE() << Describe(f);
    return r;
  }
  bool Known(const int32_t* p, int i) const { return memory_.Known(p + i, 4); }
  int KnownCount(const int32_t* p, int n = kCount) const {
    int count = 0;
    for (int i = 0; i < n; ++i) count += Known(p, i) ? 1 : 0;
    return count;
  }
  // y[i + shift] = x[i] + add
  static Builder Map(int add, int shift = 0) {
    Builder b;
    auto x = b.Pointer("x", true), y = b.Pointer("y");
    Reg i = b.GlobalTid();
    Reg v = b.Load(Type::kI32, x, i, 4 * shift);
    b.Store(Type::kI32, y, i, b.Add(v, b.I32(add)));
    b.Ret();
    return b;
  }
  Memory memory_{256u << 20};
  LaunchOptions options_;
};

TEST_F(Sample, OnlyWhatItsBlocksWroteIsKnown) {
  int32_t* x = Make(kCount, "x", true);
  for (int i = 0; i < kCount; ++i) x[i] = 3 * i;
  int32_t* y = Make(kCount, "y");
  Builder b = Map(1);
  const LaunchResult r = Go(b, Args().P(x).P(y));
  EXPECT_FALSE(r.sampling.whole);
  EXPECT_EQ(r.sampling.blocks, static_cast<uint64_t>(kBlocks));
  EXPECT_GE(r.sampling.blocks_run, 32u);
  EXPECT_LT(r.sampling.blocks_run, 300u);
  EXPECT_EQ(KnownCount(y), static_cast<int>(r.sampling.blocks_run) * kThreads);
  EXPECT_TRUE(Known(y, 0) && Known(y, kCount - 1)) << "first and last block";
  for (int i = 0; i < kCount; ++i) {
    if (Known(y, i)) {
      ASSERT_EQ(y[i], 3 * i + 1);
    }
  }
  EXPECT_EQ(KnownCount(x), kCount) << "nothing writes there";
  ASSERT_EQ(r.sampling.estimates.size(), 1u);
  EXPECT_DOUBLE_EQ(r.sampling.estimates.begin()->second.bytes, kCount * 4.0);
  EXPECT_DOUBLE_EQ(r.sampling.estimates.begin()->second.deviation, 0.0);
}

TEST_F(Sample, ALaunchThatCostsLittleRunsWhole) {
  options_.sampling.lanes_whole = kPlenty;
  int32_t* x = Make(kCount, "x", true);
  int32_t* y = Make(kCount, "y");
  Builder b = Map(1);
  const LaunchResult r = Go(b, Args().P(x).P(y));
  EXPECT_TRUE(r.sampling.whole);
  EXPECT_EQ(r.sampling.blocks_run, static_cast<uint64_t>(kBlocks));
  EXPECT_EQ(KnownCount(y), kCount);
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(y[i], 1);
}

TEST_F(Sample, SeedsChooseOtherBlocksAndEqualSeedsTheSame) {
  int32_t* x = Make(kCount, "x", true);
  std::vector<std::vector<bool>> known;
  for (const uint64_t seed : {7, 7, 8}) {
    options_.sampling.seed = seed;
    int32_t* y = Make(kCount, "y");
    Builder b = Map(1);
    Go(b, Args().P(x).P(y));
    known.emplace_back();
    for (int i = 0; i < kCount; ++i) known.back().push_back(Known(y, i));
  }
  EXPECT_EQ(known[0], known[1]);
  EXPECT_NE(known[0], known[2]);
}

TEST_F(Sample, TheGridIsTheRealOne) {
  int32_t* y = Make(kCount, "y");
  Builder b;
  auto p = b.Pointer("y");
  Reg i = b.GlobalTid();
  b.Store(Type::kI32, p, i, b.Op2(Op::kMov, Type::kI32, b.Special(SpecialReg::kNctaidX, true)));
  b.Ret();
  Go(b, Args().P(y));
  for (int k = 0; k < kCount; ++k) {
    if (Known(y, k)) {
      ASSERT_EQ(y[k], kBlocks);
    }
  }
}

TEST_F(Sample, AKernelAfterItKnowsWhatTheSameBlocksLeft) {
  int32_t* x = Make(kCount, "x", true);
  int32_t* y = Make(kCount, "y");
  int32_t* z = Make(kCount, "z");
  Builder b = Map(1);
  Go(b, Args().P(x).P(y));
  const LaunchResult second = Go(b, Args().P(y).P(z));
  EXPECT_EQ(second.sampling.blocks_given_up, 0u);
  EXPECT_EQ(KnownCount(z), KnownCount(y));
  for (int i = 0; i < kCount; ++i) {
    if (Known(z, i)) {
      ASSERT_EQ(z[i], 2);
    }
  }
}

TEST_F(Sample, ABlockThatReadsWhatNobodyKnowsIsGivenUpWithoutAFinding) {
  int32_t* x = Make(kCount + 64, "x", true);
  int32_t* y = Make(kCount + 64, "y", true);
  int32_t* z = Make(kCount, "z");
  Builder first = Map(1);
  Go(first, Args().P(x).P(y));
  Builder second = Map(1, 1);  // needs one element of the next block
  const LaunchResult r = Go(second, Args().P(y).P(z));
  EXPECT_GT(r.sampling.blocks_given_up, 0u);
  EXPECT_LT(r.sampling.blocks_given_up, r.sampling.blocks_run);
  EXPECT_EQ(KnownCount(z),
            static_cast<int>(r.sampling.blocks_run - r.sampling.blocks_given_up) * kThreads);
  for (int i = 0; i < kCount; ++i) {
    if (Known(z, i)) {
      ASSERT_EQ(z[i], 2);
    }
  }
}

// A block that stops half way has written something, but perhaps not its last word.
TEST_F(Sample, WhatABlockWroteBeforeItWasGivenUpIsUnknown) {
  int32_t* x = Make(kCount, "x", true);
  int32_t* y = Make(kCount, "y");
  int32_t* z = Make(kCount, "z");
  Builder first = Map(1);
  Go(first, Args().P(x).P(y));
  memory_.SetKnown(y, kCount * 4, false);
  Builder b;
  auto py = b.Pointer("y", true), pz = b.Pointer("z");
  Reg i = b.GlobalTid();
  b.Store(Type::kI32, pz, i, b.I32(0));
  b.Store(Type::kI32, pz, i, b.Load(Type::kI32, py, i));
  b.Ret();
  Go(b, Args().P(y).P(z));
  EXPECT_EQ(KnownCount(z), 0);
}

// Nobody can tell what has become of x where no block ran, although it was there before.
TEST_F(Sample, InPlaceUpdatesLeaveTheRestUnknown) {
  int32_t* x = Make(kCount, "x", true);
  Builder b;
  auto p = b.Pointer("x");
  Reg i = b.GlobalTid();
  b.Store(Type::kI32, p, i, b.Add(b.Load(Type::kI32, p, i), b.I32(1)));
  b.Ret();
  for (int time = 1; time <= 3; ++time) {
    const LaunchResult r = Go(b, Args().P(x));
    EXPECT_EQ(KnownCount(x), static_cast<int>(r.sampling.blocks_run) * kThreads);
    for (int k = 0; k < kCount; ++k) {
      if (Known(x, k)) {
        ASSERT_EQ(x[k], time);
      }
    }
  }
}

TEST_F(Sample, TargetsOfAtomicsAreUnknown) {
  int32_t* x = Make(kCount, "x", true);
  int32_t* sum = Make(1, "sum", true);
  Builder b;
  auto px = b.Pointer("x", true), psum = b.Pointer("sum");
  b.Atomic(AtomicOp::kAdd, Type::kI32, psum, b.Load(Type::kI32, px, b.GlobalTid()));
  b.Ret();
  const LaunchResult r = Go(b, Args().P(x).P(sum));
  EXPECT_LT(r.sampling.blocks_run, static_cast<uint64_t>(kBlocks));
  EXPECT_FALSE(Known(sum, 0));
}

// The block that finds itself to be the last one: with some blocks missing nobody would be.
Builder LastBlockDone() {
  Builder b;
  auto count = b.Pointer("count"), y = b.Pointer("y");
  Reg ticket = b.Atomic(AtomicOp::kAdd, Type::kI32, count, b.I32(1));
  b.Store(Type::kI32, y, b.GlobalTid(), ticket);
  b.Ret();
  return b;
}

TEST_F(Sample, BlocksThatCountEachOtherRunWhole) {
  int32_t* count = Make(1, "count", true);
  int32_t* y = Make(kCount, "y");
  Builder b = LastBlockDone();
  const LaunchResult r = Go(b, Args().P(count).P(y));
  EXPECT_TRUE(r.sampling.whole);
  EXPECT_NE(r.sampling.why_whole, "");
  EXPECT_EQ(count[0], kCount);
  EXPECT_TRUE(Known(count, 0));
  EXPECT_EQ(KnownCount(y), kCount);
}

TEST_F(Sample, BlocksThatCountEachOtherAndCostTooMuchLeaveNothingKnown) {
  options_.sampling.lanes_max = 1000;
  int32_t* count = Make(1, "count", true);
  int32_t* y = Make(kCount, "y", true);
  Builder b = LastBlockDone();
  const LaunchResult r = Go(b, Args().P(count).P(y));
  EXPECT_TRUE(r.sampling.too_costly);
  EXPECT_FALSE(r.sampling.whole);
  EXPECT_FALSE(Known(count, 0));
  EXPECT_EQ(KnownCount(y), 0);
}

// All of y is known to be written by somebody; that a pointer was hidden in memory must not help.
TEST_F(Sample, PointersOutOfMemoryMayLeadAnywhere) {
  int32_t* y = Make(kCount, "y", true);
  int32_t* other = Make(16, "other", true);
  auto* table = static_cast<uint64_t*>(memory_.Allocate(8, 256, "table", true).value());
  table[0] = reinterpret_cast<uint64_t>(y);
  Builder b;
  auto p = b.Pointer("table", true);
  Reg address = b.Load(Type::kI64, p);
  Reg provenance = b.New(Type::kI32);
  b.Emit(Op::kProvOf, Type::kI32, provenance, address);
  b.Store(Type::kI32, {address, provenance}, b.GlobalTid(), b.I32(5));
  b.Ret();
  const LaunchResult r = Go(b, Args().P(table));
  EXPECT_EQ(KnownCount(y), static_cast<int>(r.sampling.blocks_run) * kThreads);
  EXPECT_EQ(KnownCount(other, 16), 0);
}

// A kernel that leaves out blocks in the middle: the ones that were drawn tell.
TEST_F(Sample, BlocksThatWriteNothingShowInTheEstimate) {
  int32_t* y = Make(kCount, "y", true);
  Builder b;
  auto p = b.Pointer("y");
  Reg early = b.ICmp(isa::IntPredicate::kSlt, b.Bid(), b.I32(kBlocks / 2));
  uint32_t br = b.If(early);
  b.Store(Type::kI32, p, b.GlobalTid(), b.I32(1));
  b.ElseHere(br);
  b.Ret();
  options_.sampling.lanes_whole = 40'000;
  const LaunchResult r = Go(b, Args().P(y));
  ASSERT_EQ(r.sampling.estimates.size(), 1u);
  const SampledLaunch::Estimate e = r.sampling.estimates.begin()->second;
  EXPECT_LT(e.bytes + 3 * e.deviation, kCount * 4.0);
}

TEST_F(Sample, CopiesTakeTheUnknownWithThem) {
  int32_t* a = Make(8, "a", true);
  int32_t* b = Make(8, "b", true);
  memory_.SetKnown(a + 2, 4, false);
  memory_.CopyKnown(b + 1, a + 1, 12);
  EXPECT_TRUE(Known(b, 1));
  EXPECT_FALSE(Known(b, 2));
  EXPECT_TRUE(Known(b, 3));
  memory_.CopyKnown(b, a + 4, 16);
  EXPECT_TRUE(memory_.Known(b, 32));
}

}  // namespace
}  // namespace kuafu::simt
