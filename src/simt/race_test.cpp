// SPDX-License-Identifier: Apache-2.0
// Races that a record of only the newest access would miss, each beside its correct twin, and the
// bound of the shadow.
#include <gtest/gtest.h>

#include "simt/module_builder.h"
#include "simt/shadow.h"
#include "simt/simt.h"

namespace kuafu::simt {
namespace {

using namespace testing;  // NOLINT
using isa::IntPredicate;
using Kind = Finding::Kind;

class Race : public ::testing::Test {
 protected:
  int32_t* Make(size_t n) {
    return static_cast<int32_t*>(memory_.Allocate(n * 4, 256, "x", true).value());
  }
  LaunchResult Go(Builder& b, Dim3 grid, Dim3 block, std::span<const uint8_t> args) {
    auto program = Program::Load(memory_, b.module());
    EXPECT_TRUE(program.ok());
    return program.value()->Launch("k", grid, block, 0, args, options_);
  }
  static void Expect(const LaunchResult& r, bool found, Kind kind) {
    for (const Finding& f : r.findings) {
      if (f.kind != kind || !found) ADD_FAILURE() << Describe(f);
    }
    EXPECT_EQ(r.findings.empty(), !found);
  }
  template <class Body>
  static void Only(Builder& b, Reg value, int32_t wanted, Body body) {
    uint32_t br = b.If(b.ICmp(IntPredicate::kEq, value, b.I32(wanted)));
    body();
    b.ElseHere(br);
  }
  static void Fence(Builder& b) {
    b.Emit(Op::kFence, Type::kI32, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg,
           1);
  }
  Memory memory_{64u << 20};
  LaunchOptions options_;
};

// Lanes 0 and 1 write bytes 0 and 1 of a word; then a lane of another warp writes byte `other`.
TEST_F(Race, TwoLanesInOneSharedWordAreBothRemembered) {
  for (int32_t other : {0, 1, 2}) {
    Builder b;
    auto s = b.SharedPtr(b.Shared("s", 16));
    Reg t = b.Tid(), one = b.Const(Type::kI8, 1);
    uint32_t br = b.If(b.ICmp(IntPredicate::kSlt, t, b.I32(2)));
    b.Store(Type::kI8, s, t, one);
    b.ElseHere(br);
    Only(b, t, 32, [&] { b.Store(Type::kI8, s, isa::kNoReg, one, other); });
    b.Ret();
    Expect(Go(b, {1}, {64}, Args()), other < 2, Kind::kRace);
  }
}

// The same in global memory, the last write by another block.
TEST_F(Race, TwoLanesInOneGlobalWordAreBothRemembered) {
  for (int32_t other : {0, 1, 2}) {
    Builder b;
    auto x = b.Pointer("x");
    Reg t = b.Tid(), one = b.Const(Type::kI8, 1), bid = b.Bid();
    Only(b, bid, 0, [&] {
      uint32_t br = b.If(b.ICmp(IntPredicate::kSlt, t, b.I32(2)));
      b.Store(Type::kI8, x, t, one);
      b.ElseHere(br);
    });
    Only(b, bid, 1,
         [&] { Only(b, t, 0, [&] { b.Store(Type::kI8, x, isa::kNoReg, one, other); }); });
    b.Ret();
    Expect(Go(b, {2}, {32}, Args().P(Make(4))), other < 2, Kind::kRace);
  }
}

// Words first, bytes later: what was recorded of the words holds for each byte.
TEST_F(Race, AFinerAccessKeepsWhatWasRecorded) {
  for (int32_t byte : {0, 7, 8}) {
    Builder b;
    auto x = b.Pointer("x");
    Reg t = b.Tid(), bid = b.Bid();
    Only(b, bid, 0, [&] {
      uint32_t br = b.If(b.ICmp(IntPredicate::kSlt, t, b.I32(2)));
      b.Store(Type::kI32, x, t, t);
      b.ElseHere(br);
    });
    Only(b, bid, 1, [&] {
      Only(b, t, 0, [&] { b.Store(Type::kI8, x, isa::kNoReg, b.Const(Type::kI8, 1), byte); });
    });
    b.Ret();
    Expect(Go(b, {2}, {32}, Args().P(Make(4))), byte < 8, Kind::kRace);
  }
}

// Blocks 0 and 1 read a word; block 2 has seen a release of block 1, and in the correct twin of
// block 0 as well, before it writes the word.
TEST_F(Race, AllReaderBlocksAreRemembered) {
  for (bool both : {false, true}) {
    Builder b;
    auto x = b.Pointer("x"), count = b.Pointer("count");
    Reg bid = b.Bid(), one = b.I32(1);
    auto read = [&](bool release) {
      b.Load(Type::kI32, x);
      if (!release) return;
      Fence(b);
      b.Atomic(isa::AtomicOp::kAdd, Type::kI32, count, one);
    };
    Only(b, bid, 0, [&] { read(both); });
    Only(b, bid, 1, [&] { read(true); });
    Only(b, bid, 2, [&] {
      b.Atomic(isa::AtomicOp::kAdd, Type::kI32, count, one);
      b.Store(Type::kI32, x, isa::kNoReg, one);
    });
    b.Ret();
    Expect(Go(b, {3}, {1}, Args().P(Make(1)).P(Make(1))), !both, Kind::kRace);
  }
}

// All threads of a block publish, one signals: it speaks for the others only after a barrier, or
// for its warp after a warp barrier.
TEST_F(Race, ASignalSpeaksForThreadsMetAtABarrier) {
  enum Sync { kNothing, kWarp, kBlock };
  for (int32_t threads : {1, 32, 64}) {
    for (Sync sync : {kNothing, kWarp, kBlock}) {
      Builder b;
      auto part = b.Pointer("part"), count = b.Pointer("count");
      Reg t = b.Tid();
      Only(b, b.Bid(), 0, [&] {
        b.Store(Type::kI32, part, t, t);
        Fence(b);
        if (sync == kWarp) b.Emit(Op::kSyncWarp, Type::kI32, isa::kNoReg, b.I64(0xffffffff));
        if (sync == kBlock) b.Sync();
        Only(b, t, 0, [&] { b.Atomic(isa::AtomicOp::kAdd, Type::kI32, count, b.I32(1)); });
      });
      Only(b, b.Bid(), 1, [&] {
        Only(b, t, 0, [&] {
          b.Atomic(isa::AtomicOp::kAdd, Type::kI32, count, b.I32(1));
          b.Load(Type::kI32, part, isa::kNoReg, (threads - 1) * 4);
        });
        b.Store(Type::kI32, part, b.Add(t, b.I32(64)), t);
      });
      b.Ret();
      const bool found = threads == 1 ? false : threads == 32 ? sync == kNothing : sync != kBlock;
      Expect(Go(b, {2}, {static_cast<uint32_t>(threads)}, Args().P(Make(128)).P(Make(1))), found,
             Kind::kRace);
    }
  }
}

// A pointer that is not const but only read: no record, and no finding either.
TEST_F(Race, ReadersOfManyBlocksAreNoRace) {
  Builder b;
  auto x = b.Pointer("x"), y = b.Pointer("y");
  b.Store(Type::kI32, y, b.GlobalTid(), b.Load(Type::kI32, x, b.Tid()));
  b.Ret();
  Expect(Go(b, {40}, {32}, Args().P(Make(32)).P(Make(32 * 40))), false, Kind::kRace);
}

TEST_F(Race, PlainAccessBesideAtomicsNeedsABarrier) {
  for (bool write : {false, true}) {
    for (bool sync : {false, true}) {
      Builder b;
      auto s = b.SharedPtr(b.Shared("s", 16));
      Reg t = b.Tid();
      Only(b, t, 0, [&] { b.Store(Type::kI32, s, isa::kNoReg, b.I32(0)); });
      b.Sync();
      b.Atomic(isa::AtomicOp::kAdd, Type::kI32, s, b.I32(1));
      if (sync) b.Sync();
      Only(b, t, 3, [&] {
        if (write)
          b.Store(Type::kI32, s, isa::kNoReg, t);
        else
          b.Load(Type::kI32, s);
      });
      b.Ret();
      Expect(Go(b, {1}, {64}, Args()), !sync, Kind::kRace);
    }
  }
}

// A tile filled and read back in the patterns the chunk functions take: rows are one word for eight
// lanes, columns a run; then overwritten with and without a barrier.
TEST_F(Race, TileReuse) {
  for (bool sync : {false, true}) {
    for (uint64_t seed : {0u, 5u}) {
      options_.order_seed = seed;
      Builder b;
      auto s = b.SharedPtr(b.Shared("s", 1024));
      Reg t = b.Tid(), tx = b.Op2(Op::kAnd, Type::kI32, t, b.I32(15));
      Reg row = b.Op2(Op::kAnd, Type::kI32, t, b.I32(~15));
      b.Store(Type::kI32, s, t, t);
      b.Sync();
      for (int k = 0; k < 16; ++k) {
        b.Load(Type::kI32, s, row, k * 4);
        b.Load(Type::kI32, s, tx, k * 64);
      }
      if (sync) b.Sync();
      b.Store(Type::kI32, s, t, t);
      b.Ret();
      Expect(Go(b, {2}, {256}, Args()), !sync, Kind::kRace);
    }
  }
}

// Every 16-byte vector has four granules of one lane.
TEST_F(Race, VectorsInSharedMemory) {
  for (int32_t offset : {0, 4}) {
    Builder b;
    auto s = b.SharedPtr(b.Shared("s", 2048));
    Reg t = b.Tid(), v = b.New(Type::kI32);
    for (int i = 1; i < 4; ++i) b.New(Type::kI32);
    for (Reg c = v; c < v + 4; ++c) b.Set(c, t);
    b.Store(Type::kI32, s, t, v, 0, 0, 4);
    b.Load(Type::kI32, s, b.Mul(t, b.I32(4)), offset * 4);
    b.Ret();
    // The next lane's vector for offset 4; the last lane would read what nobody wrote.
    LaunchResult r = Go(b, {1}, {64}, Args());
    bool race = false;
    for (const Finding& f : r.findings) race = race || f.kind == Kind::kRace;
    EXPECT_EQ(race, offset == 4);
    EXPECT_EQ(r.ok, offset == 0);
  }
}

// Uninitialised is told per block, although nothing is cleared between the blocks of a context.
TEST_F(Race, SharedMemoryIsUninitialisedInEachBlock) {
  Builder b;
  auto s = b.SharedPtr(b.Shared("s", 256));
  Reg t = b.Tid();
  Only(b, b.Bid(), 0, [&] { b.Store(Type::kI32, s, t, t); });
  b.Sync();
  b.Load(Type::kI32, s, t);
  b.Ret();
  LaunchResult r = Go(b, {2}, {64}, Args());
  Expect(r, true, Kind::kUninit);
  ASSERT_FALSE(r.findings.empty());
  EXPECT_EQ(r.findings[0].block[0], 1u);
}

// Half of the lanes of a wide warp have left; the others shuffle among all.
TEST_F(Race, ShuffleFromAnInactiveLaneOfAWideWarp) {
  options_.warp_width = 128;
  for (int32_t source : {3, 100}) {
    Builder b;
    Reg t = b.Tid();
    uint32_t br = b.If(b.ICmp(IntPredicate::kSlt, t, b.I32(64)));
    b.Emit(Op::kShfl, Type::kI32, b.New(Type::kI32), b.I64(0x7fffffffffffffff), t, b.I32(source),
           b.I32(128), 0, static_cast<uint32_t>(isa::ShflKind::kIdx));
    b.ElseHere(br);
    b.Ret();
    // The mask leaves out lane 63, which calls, and lane 100, which does not: both are told.
    LaunchResult r = Go(b, {1}, {128}, Args());
    EXPECT_FALSE(r.ok);
    for (const Finding& f : r.findings) EXPECT_EQ(f.kind, Kind::kWarpSync) << Describe(f);
  }
  Builder b;
  b.Emit(Op::kShfl, Type::kI32, b.New(Type::kI32), b.I64(-1), b.Tid(), b.I32(100), b.I32(128), 0,
         static_cast<uint32_t>(isa::ShflKind::kIdx));
  b.Ret();
  Expect(Go(b, {1}, {128}, Args()), false, Kind::kWarpSync);
}

TEST(ShadowBound, IsCountedInHalvesThatAreTouched) {
  Memory memory(64u << 20);
  constexpr size_t kPages = 64;
  auto* data = memory.Allocate(kPages * GlobalShadow::kPageBytes, 4096, "x", true).value();
  auto address = reinterpret_cast<uint64_t>(data);
  const uint32_t id = memory.IdOf(address);
  GlobalShadow shadow;
  shadow.BeginLaunch(memory);
  BlockSync sync;
  sync.Reset(0, 32, 32);
  const size_t half = GlobalShadow::kPageBytes / 4 * sizeof(Cell);
  shadow.max_bytes = kPages * half;
  for (size_t p = 0; p < kPages; ++p) {
    shadow.Note(id, *memory.Get(id), address + p * GlobalShadow::kPageBytes, 4, sync, 0, true,
                false, 1);
  }
  EXPECT_FALSE(shadow.limited());
  shadow.Note(id, *memory.Get(id), address, 4, sync, 0, false, false, 2);
  EXPECT_TRUE(shadow.limited());
  // What is beyond is not looked for; what was recorded still is.
  BlockSync other;
  other.Reset(1, 32, 32);
  EXPECT_TRUE(shadow.Note(id, *memory.Get(id), address, 4, other, 0, true, false, 3).found);
}

// A later launch is ordered after an earlier one, and needs no new pages.
TEST_F(Race, LaunchesAreOrdered) {
  Builder b;
  auto x = b.Pointer("x");
  Reg i = b.GlobalTid();
  b.Store(Type::kI32, x, b.Op2(Op::kXor, Type::kI32, i, b.I32(32)), i);
  b.Ret();
  auto program = Program::Load(memory_, b.module());
  ASSERT_TRUE(program.ok());
  int32_t* p = Make(64);
  for (uint64_t seed : {0u, 1u, 2u, 3u}) {
    options_.order_seed = seed;
    Expect(program.value()->Launch("k", {2}, {32}, 0, Args().P(p), options_), false, Kind::kRace);
  }
}

}  // namespace
}  // namespace kuafu::simt
