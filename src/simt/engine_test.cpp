// SPDX-License-Identifier: Apache-2.0
// Execution: values computed by hand-written modules, for several widths and orders.
#include <gtest/gtest.h>

#include <cfenv>

#include <cstring>

#include "simt/module_builder.h"
#include "simt/simt.h"

namespace kuafu::simt {
namespace {

using namespace testing;  // NOLINT
using isa::IntPredicate;
using isa::SpecialReg;

class Engine : public ::testing::Test {
 protected:
  template <class T>
  T* Make(size_t n, const char* name = "x", bool initialized = true) {
    return static_cast<T*>(memory_.Allocate(n * sizeof(T), 256, name, initialized).value());
  }
  LaunchResult Go(Builder& b, Dim3 grid, Dim3 block, std::span<const uint8_t> args,
                  size_t dynamic = 0) {
    auto program = Program::Load(memory_, b.module());
    EXPECT_TRUE(program.ok());
    LaunchResult r = program.value()->Launch("k", grid, block, dynamic, args, options_);
    for (const Finding& f : r.findings) ADD_FAILURE() << Describe(f);
    return r;
  }
  Memory memory_{256u << 20};
  LaunchOptions options_;
};

TEST_F(Engine, VectorAddWithATail) {
  Builder b;
  auto x = b.Pointer("x", true), y = b.Pointer("y");
  Reg n = b.IntParam("n");
  Reg i = b.GlobalTid();
  uint32_t br = b.If(b.ICmp(IntPredicate::kSlt, i, n));
  Reg v = b.Load(Type::kF32, x, i);
  b.Store(Type::kF32, y, i, b.Op2(Op::kFAdd, Type::kF32, v, b.F32(1.5f)));
  b.ElseHere(br);
  b.Ret();
  float* px = Make<float>(1000);
  float* py = Make<float>(1000, "y", false);
  for (int k = 0; k < 1000; ++k) px[k] = static_cast<float>(k);
  LaunchResult r = Go(b, {4}, {256}, Args().P(px).P(py).I(1000));
  for (int k = 0; k < 1000; ++k) ASSERT_EQ(py[k], static_cast<float>(k) + 1.5f);
  EXPECT_EQ(memory_.BytesNeverWritten(py, 4000), 0u);
  EXPECT_EQ(r.divergent_branches, 1u);
  EXPECT_EQ(r.global_store_bytes, 4000u);
  EXPECT_EQ(r.blocks, 4u);
}

// Collatz lengths: every lane leaves the loop at its own time.
TEST_F(Engine, RoundingModeOfTheHostDoesNotReachTheDevice) {
  Builder b;
  auto y = b.Pointer("y");
  Reg t = b.Tid();
  Reg third = b.Op2(Op::kFDiv, Type::kF32, b.F32(2.0f), b.F32(3.0f));  // rounded up by default
  b.Store(Type::kF32, y, t, third);
  b.Ret();
  float* py = Make<float>(32, "y", false);
  std::fesetround(FE_TOWARDZERO);
  Go(b, {1}, {32}, Args().P(py));
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(py[0], 0x1.555556p-1f);
  EXPECT_EQ(after, FE_TOWARDZERO) << "the host keeps its own";
}

TEST_F(Engine, DivergentLoopsReconverge) {
  for (uint64_t seed : {0u, 1u, 7u}) {
    options_.order_seed = seed;
    Builder b;
    auto out = b.Pointer("out");
    Reg i = b.Tid();
    Reg v = b.New(Type::kI32), steps = b.New(Type::kI32);
    b.Set(v, b.Add(i, b.I32(1)));
    b.Set(steps, b.I32(0));
    uint32_t head = b.pc();
    uint32_t exit = b.If(b.ICmp(IntPredicate::kNe, v, b.I32(1)));
    Reg odd = b.ICmp(IntPredicate::kNe, b.Op2(Op::kAnd, Type::kI32, v, b.I32(1)), b.I32(0));
    uint32_t even = b.If(odd);
    b.Set(v, b.Mad(v, b.I32(3), b.I32(1)));
    uint32_t join = b.Jump();
    b.ElseHere(even);
    b.Set(v, b.Op2(Op::kLShr, Type::kI32, v, b.I32(1)));
    b.JumpHere(join);
    b.Set(steps, b.Add(steps, b.I32(1)));
    b.Jump(head);
    b.ElseHere(exit);
    b.Store(Type::kI32, out, i, steps);
    b.Ret();
    int32_t* p = Make<int32_t>(200);
    Go(b, {1}, {200}, Args().P(p));
    for (int k = 0; k < 200; ++k) {
      int n = k + 1, s = 0;
      for (; n != 1; ++s) n = n % 2 ? 3 * n + 1 : n / 2;
      ASSERT_EQ(p[k], s) << k;
    }
  }
}

TEST_F(Engine, BlockReversalThroughSharedMemory) {
  for (uint64_t seed : {0u, 3u}) {
    options_.order_seed = seed;
    Builder b;
    auto x = b.Pointer("x");
    auto s = b.SharedPtr(b.Shared("s", 0, true));
    Reg t = b.Tid();
    b.Store(Type::kI32, s, t, b.Load(Type::kI32, x, t));
    b.Sync();
    Reg back = b.Op2(Op::kSub, Type::kI32, b.I32(127), t);
    b.Store(Type::kI32, x, t, b.Load(Type::kI32, s, back));
    b.Ret();
    int32_t* p = Make<int32_t>(128);
    for (int k = 0; k < 128; ++k) p[k] = k;
    LaunchResult r = Go(b, {1}, {128}, Args().P(p), 512);
    for (int k = 0; k < 128; ++k) ASSERT_EQ(p[k], 127 - k);
    EXPECT_EQ(r.barriers, 1u);
  }
}

TEST_F(Engine, ShuffleReductionForEveryWidth) {
  for (uint32_t width : {32u, 64u, 128u}) {
    options_.warp_width = width;
    Builder b;
    auto out = b.Pointer("out");
    Reg t = b.Tid();
    Reg sum = b.New(Type::kI32);
    b.Set(sum, t);
    Reg mask = b.I64(-1), w = b.I32(static_cast<int32_t>(width));
    for (auto delta = static_cast<int32_t>(width / 2); delta > 0; delta /= 2) {
      Reg got = b.New(Type::kI32);
      b.Emit(Op::kShfl, Type::kI32, got, mask, sum, b.I32(delta), w, 0,
             static_cast<uint32_t>(isa::ShflKind::kXor));
      b.Set(sum, b.Add(sum, got));
    }
    b.Store(Type::kI32, out, t, sum);
    b.Ret();
    int32_t* p = Make<int32_t>(256);
    Go(b, {1}, {256}, Args().P(p));
    for (uint32_t k = 0; k < 256; ++k) {
      uint32_t first = k / width * width;
      ASSERT_EQ(static_cast<uint32_t>(p[k]), width * first + width * (width - 1) / 2);
    }
  }
}

// No 64-bit mask names the lanes above 63 of a warp of 128: an operand may be a tile's size. The
// tiles of a warp meet on their own, so that one may be absent.
TEST_F(Engine, TilesReachEveryLaneOfAnyWidth) {
  for (uint32_t width : {32u, 64u, 128u}) {
    options_.warp_width = width;
    Builder b;
    auto out = b.Pointer("out");
    Reg t = b.Tid(), tile = b.I64(16), got = b.New(Type::kI32), ballot = b.New(Type::kI64);
    Reg odd = b.Op2(Op::kAnd, Type::kI32, t, b.I32(1));
    uint32_t br = b.If(b.ICmp(IntPredicate::kUge, t, b.I32(16)));
    b.Emit(Op::kShfl, Type::kI32, got, tile, t, b.I32(3), b.I32(16), 0,
           static_cast<uint32_t>(isa::ShflKind::kIdx), isa::kMaskTile);
    b.Emit(Op::kBallot, Type::kI64, ballot, tile, b.ICmp(IntPredicate::kNe, odd, b.I32(0)),
           isa::kNoReg, isa::kNoReg, 0, 0, isa::kMaskTile);
    Reg bits = b.New(Type::kI32);
    b.Emit(Op::kTrunc, Type::kI32, bits, ballot, isa::kNoReg, isa::kNoReg, isa::kNoReg, 0, 0,
           static_cast<uint8_t>(Type::kI64));
    b.Store(Type::kI32, out, t, b.Add(got, bits));
    uint32_t end = b.Jump();
    b.ElseHere(br);
    b.Store(Type::kI32, out, t, b.I32(-1));
    b.JumpHere(end);
    b.Ret();
    int32_t* p = Make<int32_t>(128);
    LaunchResult r = Go(b, {1}, {128}, Args().P(p));
    EXPECT_TRUE(r.findings.empty());
    for (int k = 0; k < 128; ++k) ASSERT_EQ(p[k], k < 16 ? -1 : k / 16 * 16 + 3 + 0xaaaa) << k;
  }
}

// Lanes of one warp reach the shuffle through two branches.
TEST_F(Engine, WarpOperationsMeetAcrossBranches) {
  Builder b;
  auto out = b.Pointer("out");
  Reg t = b.Tid();
  Reg mask = b.I64(0xffffffff), d = b.New(Type::kI32),
      odd = b.Op2(Op::kAnd, Type::kI32, t, b.I32(1));
  uint32_t br = b.If(b.ICmp(IntPredicate::kEq, odd, b.I32(0)));
  b.Emit(Op::kShfl, Type::kI32, d, mask, t, b.I32(1), b.I32(32), 0,
         static_cast<uint32_t>(isa::ShflKind::kXor));
  uint32_t end = b.Jump();
  b.ElseHere(br);
  b.Emit(Op::kShfl, Type::kI32, d, mask, t, b.I32(1), b.I32(32), 0,
         static_cast<uint32_t>(isa::ShflKind::kXor));
  b.JumpHere(end);
  b.Store(Type::kI32, out, t, d);
  b.Ret();
  int32_t* p = Make<int32_t>(64);
  Go(b, {1}, {64}, Args().P(p));
  for (int k = 0; k < 64; ++k) ASSERT_EQ(p[k], k ^ 1);
}

TEST_F(Engine, BallotAndVoteOfAPartialLastWarp) {
  Builder b;
  auto out = b.Pointer("out");
  Reg t = b.Tid(), mask = b.I64(0xffffffff);
  Reg p = b.ICmp(IntPredicate::kNe, b.Op2(Op::kAnd, Type::kI32, t, b.I32(1)), b.I32(0));
  Reg ballot = b.New(Type::kI64);
  b.Emit(Op::kBallot, Type::kI64, ballot, mask, p);
  b.Store(Type::kI64, out, t, ballot);
  b.Ret();
  auto* q = Make<uint64_t>(40);
  Go(b, {1}, {40}, Args().P(q));
  EXPECT_EQ(q[0], 0xaaaaaaaau);
  EXPECT_EQ(q[39], 0xaau);
}

TEST_F(Engine, RecursionReturnsValuesPerLane) {
  Builder b;
  auto out = b.Pointer("out");
  Reg t = b.Tid();
  Reg r = b.New(Type::kI32);
  b.Call(Op::kCall, r, isa::kNoReg, 1, {t});
  b.Store(Type::kI32, out, t, r);
  b.Ret();
  b.Begin("sum", false);  // sum(n) = n <= 0 ? 0 : n + sum(n - 1)
  Reg n = b.New(Type::kI32);
  b.fn().param_regs = {n};
  b.fn().result_count = 1;
  uint32_t br = b.If(b.ICmp(IntPredicate::kSgt, n, b.I32(0)));
  Reg rest = b.New(Type::kI32);
  b.Call(Op::kCall, rest, isa::kNoReg, 1, {b.Op2(Op::kSub, Type::kI32, n, b.I32(1))});
  b.Ret(b.Add(rest, n));
  b.ElseHere(br);
  b.Ret(b.I32(0));
  int32_t* p = Make<int32_t>(64);
  Go(b, {1}, {64}, Args().P(p));
  for (int k = 0; k < 64; ++k) ASSERT_EQ(p[k], k * (k + 1) / 2);
}

TEST_F(Engine, IndirectCallsGroupLanesByTarget) {
  Builder b;
  auto out = b.Pointer("out");
  Reg t = b.Tid();
  Reg f1 = b.New(Type::kI64, true), f2 = b.New(Type::kI64, true), f = b.New(Type::kI64),
      r = b.New(Type::kI32);
  b.Emit(Op::kFuncAddr, Type::kI64, f1, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, 1);
  b.Emit(Op::kFuncAddr, Type::kI64, f2, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, 2);
  Reg third = b.ICmp(IntPredicate::kEq, b.Op2(Op::kURem, Type::kI32, t, b.I32(3)), b.I32(0));
  b.Emit(Op::kSelect, Type::kI64, f, third, f1, f2);
  b.Call(Op::kCallIndirect, r, f, 0, {t});
  b.Store(Type::kI32, out, t, r);
  b.Ret();
  for (int k = 0; k < 2; ++k) {
    b.Begin("f", false);
    Reg n = b.New(Type::kI32);
    b.fn().param_regs = {n};
    b.fn().result_count = 1;
    b.Ret(b.Mul(n, b.I32(k == 0 ? 10 : 100)));
  }
  int32_t* p = Make<int32_t>(64);
  Go(b, {1}, {64}, Args().P(p));
  for (int k = 0; k < 64; ++k) ASSERT_EQ(p[k], k * (k % 3 == 0 ? 10 : 100));
}

TEST_F(Engine, LocalArraysArePerLane) {
  Builder b;
  auto out = b.Pointer("out");
  b.fn().frame_bytes = 64;
  b.fn().locals.push_back({"a", 16, 32, 0});
  Reg t = b.Tid();
  Reg a = b.New(Type::kI64);
  b.Emit(Op::kLocalAddr, Type::kI64, a, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, 16);
  std::pair<Reg, Reg> local{a, b.Const(Type::kI32, isa::kProvLocal | 0)};
  Reg slot = b.Op2(Op::kAnd, Type::kI32, t, b.I32(7));
  b.Store(Type::kI32, local, slot, b.Mul(t, b.I32(3)));
  b.Store(Type::kI32, out, t, b.Load(Type::kI32, local, slot));
  b.Ret();
  int32_t* p = Make<int32_t>(64);
  Go(b, {1}, {64}, Args().P(p));
  for (int k = 0; k < 64; ++k) ASSERT_EQ(p[k], 3 * k);
}

TEST_F(Engine, VectorLoadsAndStores) {
  Builder b;
  auto x = b.Pointer("x", true), y = b.Pointer("y");
  Reg t = b.Tid();
  Reg v = b.Load(Type::kF32, x, t, 0, 0, 4);
  b.Store(Type::kF32, y, t, v, 0, 0, 4);
  b.Ret();
  float* px = Make<float>(128);
  float* py = Make<float>(128, "y", false);
  for (int k = 0; k < 128; ++k) px[k] = static_cast<float>(k);
  Go(b, {1}, {32}, Args().P(px).P(py));
  EXPECT_EQ(std::memcmp(px, py, 512), 0);
}

TEST_F(Engine, AtomicsSerialise) {
  for (uint64_t seed : {0u, 5u}) {
    options_.order_seed = seed;
    Builder b;
    auto c = b.Pointer("c"), f = b.Pointer("f");
    b.Atomic(isa::AtomicOp::kAdd, Type::kI32, c, b.I32(2));
    b.Atomic(isa::AtomicOp::kFAdd, Type::kF32, f, b.F32(0.5f));
    b.Ret();
    int32_t* pc = Make<int32_t>(1);
    float* pf = Make<float>(1);
    LaunchResult r = Go(b, {10}, {100}, Args().P(pc).P(pf));
    EXPECT_EQ(*pc, 2000);
    EXPECT_EQ(*pf, 500.0f);
    EXPECT_EQ(r.atomics, 2000u);
  }
}

// A spin lock taken by every lane of every warp: needs forward progress of diverged lanes.
TEST_F(Engine, SpinLockWithinAWarpMakesProgress) {
  for (uint64_t seed : {0u, 9u}) {
    options_.order_seed = seed;
    Builder b;
    auto lock = b.Pointer("lock"), count = b.Pointer("count");
    uint32_t head = b.pc();
    Reg old = b.New(Type::kI32);
    b.Emit(Op::kAtomicCas, Type::kI32, old, lock.first, b.I32(0), lock.second, b.I32(1));
    uint32_t got = b.If(b.ICmp(IntPredicate::kEq, old, b.I32(0)));
    Reg v = b.Load(Type::kI32, count);
    b.Store(Type::kI32, count, isa::kNoReg, b.Add(v, b.I32(1)));
    b.Emit(Op::kFence, Type::kI32, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg,
           1);
    b.Atomic(isa::AtomicOp::kXchg, Type::kI32, lock, b.I32(0));
    b.Ret();
    b.ElseHere(got);
    b.Jump(head);
    int32_t* pl = Make<int32_t>(1);
    int32_t* pc = Make<int32_t>(1);
    Go(b, {2}, {64}, Args().P(pl).P(pc));
    EXPECT_EQ(*pc, 128);
  }
}

// Block 0 waits for the last block: only works if blocks are time-sliced.
TEST_F(Engine, ResidentBlocksMakeProgress) {
  Builder b;
  auto flag = b.Pointer("flag"), out = b.Pointer("out");
  Reg bid = b.Bid();
  uint32_t first = b.If(b.ICmp(IntPredicate::kEq, bid, b.I32(0)));
  uint32_t head = b.pc();
  Reg v = b.Load(Type::kI32, flag, isa::kNoReg, 0, isa::kMemVolatile);
  uint32_t wait = b.If(b.ICmp(IntPredicate::kEq, v, b.I32(0)));
  b.Jump(head);
  b.ElseHere(wait);
  b.Store(Type::kI32, out, isa::kNoReg, v);
  b.Ret();
  b.ElseHere(first);
  uint32_t last = b.If(b.ICmp(IntPredicate::kEq, bid, b.I32(7)));
  b.Store(Type::kI32, flag, isa::kNoReg, b.I32(42), 0, isa::kMemVolatile);
  b.ElseHere(last);
  b.Ret();
  int32_t* pf = Make<int32_t>(1);
  int32_t* po = Make<int32_t>(1);
  Go(b, {8}, {1}, Args().P(pf).P(po));
  EXPECT_EQ(*po, 42);
}

TEST_F(Engine, GridSyncOrdersBlocks) {
  options_.cooperative = true;
  Builder b;
  auto x = b.Pointer("x"), y = b.Pointer("y");
  Reg bid = b.Bid();
  b.Store(Type::kI32, x, bid, b.Mul(bid, b.I32(5)));
  b.Emit(Op::kGridSync, Type::kI32, isa::kNoReg);
  Reg next = b.Op2(Op::kURem, Type::kI32, b.Add(bid, b.I32(1)), b.I32(6));
  b.Store(Type::kI32, y, bid, b.Load(Type::kI32, x, next));
  b.Ret();
  int32_t* px = Make<int32_t>(6);
  int32_t* py = Make<int32_t>(6);
  Go(b, {6}, {1}, Args().P(px).P(py));
  for (int k = 0; k < 6; ++k) EXPECT_EQ(py[k], (k + 1) % 6 * 5);
}

TEST_F(Engine, BarrierReductions) {
  Builder b;
  auto out = b.Pointer("out");
  Reg t = b.Tid();
  Reg p = b.ICmp(IntPredicate::kSlt, t, b.I32(10)), d = b.New(Type::kI32);
  b.Emit(Op::kBarrier, Type::kI32, d, p, isa::kNoReg, isa::kNoReg, isa::kNoReg, 0,
         static_cast<uint32_t>(isa::BarrierKind::kPopc));
  b.Store(Type::kI32, out, t, d);
  b.Ret();
  int32_t* q = Make<int32_t>(64);
  Go(b, {1}, {64}, Args().P(q));
  EXPECT_EQ(q[63], 10);
}

TEST_F(Engine, GlobalsAreInitialisedAndRelocated) {
  Builder b;
  isa::Global a, ptr;
  a.name = "a";
  a.bytes = 8;
  a.init = {1, 0, 0, 0, 7, 0, 0, 0};
  ptr.name = "p";
  ptr.bytes = 8;
  ptr.relocations.push_back({0, false, 0, 4});
  b.module().globals = {a, ptr};
  auto out = b.Pointer("out");
  Reg g = b.New(Type::kI64, true), gp = b.New(Type::kI32, true);
  b.Emit(Op::kGlobalAddr, Type::kI64, g, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, 1);
  b.Emit(Op::kProvOf, Type::kI32, gp, g);
  Reg q = b.Load(Type::kI64, {g, gp});
  Reg qp = b.New(Type::kI32);
  b.Emit(Op::kProvOf, Type::kI32, qp, q);
  b.Store(Type::kI32, out, b.Tid(), b.Load(Type::kI32, {q, qp}));
  b.Ret();
  int32_t* p = Make<int32_t>(4);
  Go(b, {1}, {4}, Args().P(p));
  EXPECT_EQ(p[3], 7);
}

// The address of a shared variable, kept in memory, belongs to that variable and not to one of
// another kernel that would lie at the same place.
TEST_F(Engine, SharedAddressInMemoryIsNotOfAnotherKernel) {
  Builder b;
  b.module().shared.push_back({.name = "raw", .bytes = 0, .align = 16, .dynamic = true});
  b.module().shared.push_back({.name = "cells", .bytes = 16, .align = 4, .dynamic = false});
  b.fn().shared = {1};
  auto out = b.Pointer("out");
  Reg a = b.New(Type::kI64, true);
  b.Emit(Op::kSharedAddr, Type::kI64, a, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, 1);
  Reg p = b.New(Type::kI32, true);
  b.Emit(Op::kProvOf, Type::kI32, p, a);
  b.Store(Type::kI32, {a, p}, b.Tid(), b.Tid());
  b.Store(Type::kI32, out, b.Tid(), b.Load(Type::kI32, {a, p}, b.Tid()));
  b.Ret();
  int32_t* q = Make<int32_t>(4);
  Go(b, {1}, {4}, Args().P(q));
  EXPECT_EQ(q[3], 3);
}

TEST_F(Engine, PrintfFormats) {
  Builder b;
  isa::Global f;
  f.name = "fmt";
  const char text[] = "%d%% %5.2f %s|%lld\n";
  f.bytes = sizeof text;
  f.init.assign(text, text + sizeof text);
  isa::Global args;
  args.name = "args";
  args.bytes = 32;
  args.init.resize(32);
  int32_t i = -3;
  double d = 2.5;
  int64_t l = 1ll << 40;
  std::memcpy(args.init.data(), &i, 4);
  std::memcpy(args.init.data() + 8, &d, 8);
  std::memcpy(args.init.data() + 24, &l, 8);
  args.relocations.push_back({16, false, 2, 0});
  isa::Global s;
  s.name = "s";
  s.bytes = 3;
  s.init = {'h', 'i', 0};
  b.module().globals = {f, args, s};
  Reg g[2], p[2];
  for (int k = 0; k < 2; ++k) {
    g[k] = b.New(Type::kI64, true);
    p[k] = b.New(Type::kI32, true);
    b.Emit(Op::kGlobalAddr, Type::kI64, g[k], isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg,
           k);
    b.Emit(Op::kProvOf, Type::kI32, p[k], g[k]);
  }
  b.Emit(Op::kPrintf, Type::kI32, b.New(Type::kI32), g[0], p[0], g[1], p[1]);
  b.Ret();
  LaunchResult r = Go(b, {1}, {1}, Args());
  EXPECT_EQ(r.printf_output, "-3%  2.50 hi|1099511627776\n");
}

TEST_F(Engine, DeviceHeap) {
  Builder b;
  auto out = b.Pointer("out");
  Reg t = b.Tid(), p = b.New(Type::kI64), pp = b.New(Type::kI32);
  b.Emit(Op::kMalloc, Type::kI64, p, b.I64(16));
  b.Emit(Op::kProvOf, Type::kI32, pp, p);
  b.Store(Type::kI32, {p, pp}, isa::kNoReg, t);
  b.Store(Type::kI32, out, t, b.Load(Type::kI32, {p, pp}));
  b.Emit(Op::kFree, Type::kI64, isa::kNoReg, p);
  b.Ret();
  int32_t* q = Make<int32_t>(33);
  Go(b, {1}, {33}, Args().P(q));
  EXPECT_EQ(q[32], 32);
}

TEST_F(Engine, SameSeedGivesTheSameCounters) {
  auto run = [&] {
    Builder b;
    auto x = b.Pointer("x");
    Reg t = b.GlobalTid();
    b.Sync();
    b.Store(Type::kI32, x, t, t);
    b.Ret();
    int32_t* p = Make<int32_t>(256);
    options_.order_seed = 11;
    return Go(b, {4}, {64}, Args().P(p));
  };
  LaunchResult a = run(), c = run();
  EXPECT_EQ(a.dispatches, c.dispatches);
  EXPECT_EQ(a.lane_instructions, c.lane_instructions);
}

}  // namespace
}  // namespace kuafu::simt
