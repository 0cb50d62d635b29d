// SPDX-License-Identifier: Apache-2.0
// Findings: each mistake is found, at the right line, and its correct twin is not.
#include <gtest/gtest.h>

#include "simt/module_builder.h"
#include "simt/simt.h"

namespace kuafu::simt {
namespace {

using namespace testing;  // NOLINT
using isa::IntPredicate;
using Kind = Finding::Kind;

class Sanitizer : public ::testing::Test {
 protected:
  int32_t* Make(size_t n, const char* name = "x", bool initialized = true) {
    return static_cast<int32_t*>(memory_.Allocate(n * 4, 256, name, initialized).value());
  }
  LaunchResult Go(Builder& b, Dim3 grid, Dim3 block, std::span<const uint8_t> args,
                  size_t dynamic = 0) {
    auto program = Program::Load(memory_, b.module());
    EXPECT_TRUE(program.ok());
    return program.value()->Launch("k", grid, block, dynamic, args, options_);
  }
  static void Clean(const LaunchResult& r) {
    for (const Finding& f : r.findings) ADD_FAILURE() << Describe(f);
    EXPECT_TRUE(r.ok);
  }
  static const Finding& Only(const LaunchResult& r, Kind kind) {
    static const Finding kNone;
    EXPECT_FALSE(r.ok);
    for (const Finding& f : r.findings) {
      if (f.kind != kind) ADD_FAILURE() << Describe(f);
    }
    EXPECT_EQ(r.findings.size(), 1u);
    return r.findings.empty() ? kNone : r.findings.front();
  }
  void Fence(Builder& b) {
    b.Emit(Op::kFence, Type::kI32, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg,
           1);
  }
  Memory memory_{256u << 20};
  LaunchOptions options_;
};

TEST_F(Sanitizer, OutOfBoundsNamesThreadAllocationAndOffset) {
  Builder b;
  auto x = b.Pointer("x");
  Reg i = b.GlobalTid();
  b.Store(Type::kI32, x, i, i);
  uint32_t line = b.line();
  b.Ret();
  int32_t* p = Make(100, "tensor x");
  const Finding f = Only(Go(b, {2}, {64}, Args().P(p)), Kind::kOob);
  EXPECT_EQ(f.line.line, line);
  EXPECT_EQ(f.file, "k.cu");
  EXPECT_EQ(f.allocation, "tensor x");
  EXPECT_EQ(f.block[0], 1u);
  EXPECT_EQ(f.thread[0], 36u);
  EXPECT_EQ(p[99], 99);
}

TEST_F(Sanitizer, OutOfBoundsReadGivesZeroAndGoesOn) {
  Builder b;
  auto x = b.Pointer("x"), y = b.Pointer("y");
  Reg t = b.Tid();
  b.Store(Type::kI32, y, t, b.Load(Type::kI32, x, t, -4));
  b.Ret();
  int32_t *p = Make(8), *q = Make(8);
  p[0] = 5;
  q[0] = 9;
  Only(Go(b, {1}, {8}, Args().P(p).P(q)), Kind::kOob);
  EXPECT_EQ(q[0], 0);
  EXPECT_EQ(q[1], 5);
}

// Sizes that a kernel hard-codes make every access of a large grid such a one.
TEST_F(Sanitizer, ALaunchThatGoesWrongAMillionTimesEnds) {
  Builder b;
  auto x = b.Pointer("x");
  b.Store(Type::kI32, x, b.GlobalTid(), b.I32(1));
  b.Ret();
  constexpr uint64_t kThreads = 256, kBlocks = 100'000;
  const LaunchResult r = Go(b, {kBlocks}, {kThreads}, Args().P(Make(100)));
  Only(r, Kind::kOob);
  EXPECT_LT(r.lane_instructions, kBlocks * kThreads);
}

TEST_F(Sanitizer, SharedVariablesAreBoundedOneByOne) {
  Builder b;
  auto a = b.SharedPtr(b.Shared("a", 64));
  b.Shared("c", 64);
  b.Store(Type::kI32, a, isa::kNoReg, b.I32(1), 64);
  b.Ret();
  EXPECT_EQ(Only(Go(b, {1}, {1}, Args()), Kind::kOob).allocation, "a");
}

TEST_F(Sanitizer, UseAfterFreeHostPointerAndNull) {
  Builder b;
  auto x = b.Pointer("x");
  b.Store(Type::kI32, x, isa::kNoReg, b.I32(1));
  b.Ret();
  int32_t* p = Make(4, "gone");
  ASSERT_TRUE(memory_.Free(p).ok());
  EXPECT_EQ(Only(Go(b, {1}, {1}, Args().P(p)), Kind::kUseAfterFree).allocation, "gone");
  int32_t local = 3;
  EXPECT_NE(Only(Go(b, {1}, {1}, Args().P(&local)), Kind::kOob).message.find("host pointer"),
            std::string::npos);
  EXPECT_EQ(local, 3);
  EXPECT_NE(Only(Go(b, {1}, {1}, Args().P(nullptr)), Kind::kOob).message.find("null"),
            std::string::npos);
}

TEST_F(Sanitizer, Misaligned) {
  Builder b;
  auto x = b.Pointer("x");
  b.Load(Type::kF32, x, isa::kNoReg, 4, 0, 4);
  b.Ret();
  Only(Go(b, {1}, {1}, Args().P(Make(16))), Kind::kMisaligned);
}

TEST_F(Sanitizer, UninitialisedGlobalSharedAndLocal) {
  {
    Builder b;
    auto x = b.Pointer("x", true);
    b.Load(Type::kI32, x, b.Tid());
    b.Ret();
    int32_t* p = Make(32, "x", false);
    memory_.MarkInitialized(p, 31 * 4);
    EXPECT_EQ(Only(Go(b, {1}, {32}, Args().P(p)), Kind::kUninit).thread[0], 31u);
    memory_.MarkInitialized(p, 128);
    Clean(Go(b, {1}, {32}, Args().P(p)));
  }
  for (bool write : {false, true}) {
    Builder b;
    auto s = b.SharedPtr(b.Shared("s", 128));
    if (write) b.Store(Type::kI32, s, b.Tid(), b.Tid());
    b.Load(Type::kI32, s, b.Tid());
    b.Ret();
    LaunchResult r = Go(b, {2}, {32}, Args());
    write ? Clean(r) : (void)Only(r, Kind::kUninit);
  }
  for (bool write : {false, true}) {
    Builder b;
    b.fn().frame_bytes = 16;
    b.fn().locals.push_back({"a", 0, 16, 0});
    Reg a = b.New(Type::kI64);
    b.Emit(Op::kLocalAddr, Type::kI64, a);
    std::pair<Reg, Reg> local{a, b.Const(Type::kI32, isa::kProvLocal)};
    if (write) b.Store(Type::kI32, local, isa::kNoReg, b.Tid(), 8);
    b.Load(Type::kI32, local, isa::kNoReg, 8);
    b.Ret();
    LaunchResult r = Go(b, {1}, {32}, Args());
    write ? Clean(r) : (void)Only(r, Kind::kUninit);
  }
}

// s[t] = t; [sync]; read s[127 - t]
TEST_F(Sanitizer, SharedRaceWithoutABarrier) {
  for (bool sync : {false, true}) {
    for (uint64_t seed : {0u, 2u}) {
      options_.order_seed = seed;
      Builder b;
      auto s = b.SharedPtr(b.Shared("s", 512));
      Reg t = b.Tid();
      b.Store(Type::kI32, s, t, t);
      uint32_t first = b.line();
      if (sync) b.Sync();
      b.Load(Type::kI32, s, b.Op2(Op::kSub, Type::kI32, b.I32(127), t));
      b.Ret();
      LaunchResult r = Go(b, {2}, {128}, Args());
      if (sync) {
        Clean(r);
        continue;
      }
      bool found = false;
      for (const Finding& f : r.findings) found = found || f.kind == Kind::kRace;
      EXPECT_TRUE(found);
      if (seed == 0) {
        EXPECT_EQ(Only(r, Kind::kRace).other_line.line, first);
      }
    }
  }
}

TEST_F(Sanitizer, WarpsNeedSyncWarp) {
  for (bool sync : {false, true}) {
    Builder b;
    auto s = b.SharedPtr(b.Shared("s", 128));
    Reg t = b.Tid();
    b.Store(Type::kI32, s, t, t);
    if (sync) b.Emit(Op::kSyncWarp, Type::kI32, isa::kNoReg, b.I64(0xffffffff));
    b.Load(Type::kI32, s, b.Op2(Op::kXor, Type::kI32, t, b.I32(1)));
    b.Ret();
    LaunchResult r = Go(b, {1}, {32}, Args());
    sync ? Clean(r) : (void)Only(r, Kind::kRace);
  }
}

// Two lanes read a word one after the other, with a warp barrier after each; then one writes it.
TEST_F(Sanitizer, ReadsOrderedByAWarpBarrierDoNotPileUp) {
  for (bool sync : {true, false}) {
    Builder b;
    auto s = b.SharedPtr(b.Shared("s", 16));
    Reg t = b.Tid(), all = b.I64(0xffffffff);
    auto only = [&](int32_t lane, bool write) {
      uint32_t br = b.If(b.ICmp(IntPredicate::kEq, t, b.I32(lane)));
      if (write)
        b.Store(Type::kI32, s, isa::kNoReg, t);
      else
        b.Load(Type::kI32, s);
      b.ElseHere(br);
    };
    only(0, true);
    b.Sync();
    only(3, false);
    if (sync) b.Emit(Op::kSyncWarp, Type::kI32, isa::kNoReg, all);
    only(4, false);
    only(4, true);
    b.Ret();
    LaunchResult r = Go(b, {1}, {32}, Args());
    sync ? Clean(r) : (void)Only(r, Kind::kRace);
  }
}

TEST_F(Sanitizer, SameWordWrittenByAllIsARaceUnlessAtomic) {
  for (bool atomic : {false, true}) {
    Builder b;
    auto x = b.Pointer("x");
    if (atomic)
      b.Atomic(isa::AtomicOp::kAdd, Type::kI32, x, b.I32(1));
    else
      b.Store(Type::kI32, x, isa::kNoReg, b.I32(1));
    b.Ret();
    LaunchResult r = Go(b, {2}, {32}, Args().P(Make(1)));
    if (atomic)
      Clean(r);
    else {
      EXPECT_FALSE(r.ok);
      EXPECT_EQ(r.findings.front().kind, Kind::kRace);
    }
  }
}

TEST_F(Sanitizer, NeighbouringBytesAreNoRace) {
  Builder b;
  auto x = b.Pointer("x");
  Reg t = b.Tid();
  b.Store(Type::kI8, x, t, b.Const(Type::kI8, 1));
  b.Load(Type::kI8, x, t);
  b.Ret();
  Clean(Go(b, {1}, {64}, Args().P(Make(16))));
}

// The last block to arrive sums what the others wrote: right only with the fence.
TEST_F(Sanitizer, BlocksAreOrderedByFenceAndAtomic) {
  for (bool fence : {true, false}) {
    Builder b;
    auto part = b.Pointer("part"), count = b.Pointer("count"), out = b.Pointer("out");
    Reg bid = b.Bid();
    b.Store(Type::kI32, part, bid, b.I32(1));
    if (fence) Fence(b);
    Reg old = b.Atomic(isa::AtomicOp::kAdd, Type::kI32, count, b.I32(1));
    uint32_t br = b.If(b.ICmp(IntPredicate::kEq, old, b.I32(3)));
    Reg sum = b.New(Type::kI32);
    b.Set(sum, b.I32(0));
    for (int k = 0; k < 4; ++k)
      b.Set(sum, b.Add(sum, b.Load(Type::kI32, part, isa::kNoReg, k * 4)));
    b.Store(Type::kI32, out, isa::kNoReg, sum);
    b.ElseHere(br);
    b.Ret();
    int32_t *pp = Make(4), *pc = Make(1), *po = Make(1);
    LaunchResult r = Go(b, {4}, {1}, Args().P(pp).P(pc).P(po));
    EXPECT_EQ(*po, 4);
    if (fence) {
      Clean(r);
    } else {
      ASSERT_FALSE(r.ok);
      EXPECT_EQ(r.findings.front().kind, Kind::kRace);
    }
  }
}

TEST_F(Sanitizer, DivergentBarrier) {
  Builder b;
  Reg t = b.Tid();
  uint32_t br = b.If(b.ICmp(IntPredicate::kSlt, t, b.I32(16)));
  b.Sync();
  uint32_t one = b.line();
  uint32_t end = b.Jump();
  b.ElseHere(br);
  b.Sync();
  uint32_t two = b.line();
  b.JumpHere(end);
  b.Ret();
  const Finding f = Only(Go(b, {1}, {64}, Args()), Kind::kBarrier);
  EXPECT_EQ(f.line.line + f.other_line.line, one + two);
}

TEST_F(Sanitizer, ReturnBeforeABarrier) {
  auto run = [&](int32_t limit) {
    Builder b;
    uint32_t br = b.If(b.ICmp(IntPredicate::kSge, b.Tid(), b.I32(limit)));
    b.Ret();
    b.ElseHere(br);
    b.Sync();
    b.Ret();
    return Go(b, {1}, {64}, Args());
  };
  Clean(run(32));  // a whole warp left
  Only(run(40), Kind::kBarrier);
  options_.strict_exit = true;
  Only(run(32), Kind::kBarrier);
}

TEST_F(Sanitizer, TwoBarriersNeverComplete) {
  Builder b;
  uint32_t br = b.If(b.ICmp(IntPredicate::kSlt, b.Tid(), b.I32(32)));
  b.Sync(1);
  uint32_t end = b.Jump();
  b.ElseHere(br);
  b.Sync(2);
  b.JumpHere(end);
  b.Ret();
  Only(Go(b, {1}, {64}, Args()), Kind::kBarrier);
}

TEST_F(Sanitizer, ShuffleMistakes) {
  auto shfl = [&](Builder& b, int64_t mask, int32_t lane, int32_t width) {
    b.Emit(Op::kShfl, Type::kI32, b.New(Type::kI32), b.I64(mask), b.Tid(), b.I32(lane),
           b.I32(width), 0, static_cast<uint32_t>(isa::ShflKind::kIdx));
  };
  {  // Source lane has returned; so the mask names it as well.
    Builder b;
    uint32_t br = b.If(b.ICmp(IntPredicate::kSge, b.Tid(), b.I32(20)));
    b.Ret();
    b.ElseHere(br);
    shfl(b, 0xfffff, 25, 32);
    b.Ret();
    Only(Go(b, {1}, {32}, Args()), Kind::kWarpSync);
  }
  {  // The calling lane is not in its mask.
    Builder b;
    shfl(b, 0x7fffffff, 0, 32);
    b.Ret();
    Only(Go(b, {1}, {32}, Args()), Kind::kWarpSync);
  }
  {
    Builder b;
    shfl(b, 0xffffffff, 0, 12);
    b.Ret();
    Only(Go(b, {1}, {32}, Args()), Kind::kWarpSync);
  }
  {  // Named lanes wait at a barrier.
    Builder b;
    uint32_t br = b.If(b.ICmp(IntPredicate::kSlt, b.Tid(), b.I32(16)));
    shfl(b, 0xffffffff, 0, 32);
    b.ElseHere(br);
    b.Sync();
    b.Ret();
    Only(Go(b, {1}, {32}, Args()), Kind::kWarpSync);
  }
  {  // Half the lanes, named correctly: fine.
    Builder b;
    uint32_t br = b.If(b.ICmp(IntPredicate::kSlt, b.Tid(), b.I32(16)));
    shfl(b, 0xffff, 3, 16);
    b.ElseHere(br);
    b.Ret();
    Clean(Go(b, {1}, {32}, Args()));
  }
}

TEST_F(Sanitizer, SpinOnWhatNobodyWritesIsADeadlock) {
  Builder b;
  auto flag = b.Pointer("flag");
  uint32_t head = b.pc();
  Reg v = b.Load(Type::kI32, flag, isa::kNoReg, 0, isa::kMemVolatile);
  uint32_t line = b.line();
  uint32_t br = b.If(b.ICmp(IntPredicate::kEq, v, b.I32(0)));
  b.Jump(head);
  b.ElseHere(br);
  b.Ret();
  options_.spin_dispatches = 200000;
  EXPECT_EQ(Only(Go(b, {4}, {32}, Args().P(Make(1))), Kind::kDeadlock).line.line, line);
}

TEST_F(Sanitizer, EndlessLoopTimesOut) {
  Builder b;
  b.Jump(0);
  b.Ret();
  options_.max_dispatches = 100000;
  Only(Go(b, {1}, {32}, Args()), Kind::kTimeout);
}

TEST_F(Sanitizer, IndexOverflow) {
  for (int32_t n : {1000, 100000}) {
    Builder b;
    Reg p = b.IntParam("n"), d = b.New(Type::kI32), t = b.Add(b.Tid(), p);
    b.Emit(Op::kMul, Type::kI32, d, t, t, isa::kNoReg, isa::kNoReg, 0, isa::kCheckOverflow);
    b.Ret();
    LaunchResult r = Go(b, {1}, {32}, Args().I(n));
    n == 1000 ? Clean(r) : (void)Only(r, Kind::kIndexOverflow);
  }
}

TEST_F(Sanitizer, TrapAndEndlessRecursion) {
  {
    Builder b;
    b.Emit(Op::kTrap, Type::kI32, isa::kNoReg);
    Only(Go(b, {9}, {32}, Args()), Kind::kTrap);
  }
  Builder b;
  b.Call(Op::kCall, isa::kNoReg, isa::kNoReg, 1, {});
  b.Ret();
  b.Begin("f", false);
  b.Call(Op::kCall, isa::kNoReg, isa::kNoReg, 1, {});
  b.Ret();
  EXPECT_NE(Only(Go(b, {1}, {32}, Args()), Kind::kTrap).message.find("stack overflow"),
            std::string::npos);
}

TEST_F(Sanitizer, LaunchConfiguration) {
  Builder b;
  b.SharedPtr(b.Shared("s", 0, true));
  b.IntParam("n");
  b.fn().max_threads = 256;
  b.Ret();
  Clean(Go(b, {1}, {256}, Args().I(1), 48 << 10));
  Only(Go(b, {1}, {257}, Args().I(1)), Kind::kLaunchInvalid);
  Only(Go(b, {1}, {1025}, Args().I(1)), Kind::kLaunchInvalid);
  Only(Go(b, {1}, {0}, Args().I(1)), Kind::kLaunchInvalid);
  Only(Go(b, {0}, {1}, Args().I(1)), Kind::kLaunchInvalid);
  Only(Go(b, {1, 65536}, {1}, Args().I(1)), Kind::kLaunchInvalid);
  Only(Go(b, {1}, {1}, Args()), Kind::kLaunchInvalid);
  Only(Go(b, {1}, {1}, Args().I(1), (48 << 10) + 1), Kind::kLaunchInvalid);
  options_.shared_opt_in = true;
  Clean(Go(b, {1}, {1}, Args().I(1), 64 << 10));
  options_.cooperative = true;
  options_.resident_blocks = 4;
  Only(Go(b, {5}, {1}, Args().I(1)), Kind::kLaunchInvalid);
}

}  // namespace
}  // namespace kuafu::simt
