// SPDX-License-Identifier: Apache-2.0
// Goal: counters are what a person counts. Method: small kernels whose requests, sectors, passes
// and branches follow from the addresses, at warps of 32 and 128 lanes; and random addresses
// against sets.
#include "simt/counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/rng.h"
#include "simt/count.h"
#include "simt/module_builder.h"
#include "simt/simt.h"

namespace kuafu::simt {
namespace {

using namespace testing;  // NOLINT
using isa::IntPredicate;
using isa::SpecialReg;

class CountersTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  CountersTest() { options_.warp_width = GetParam(); }
  float* Make(size_t n, const char* name = "x") {
    return static_cast<float*>(memory_.Allocate(n * 4, 256, name, true).value());
  }
  // The kernel of the builder, once; what was counted.
  LaunchCount Go(Builder& b, Dim3 grid, Dim3 block, std::span<const uint8_t> args) {
    auto program = Program::Load(memory_, b.module());
    EXPECT_TRUE(program.ok());
    options_.counting = &counting_;
    result_ = program.value()->Launch("k", grid, block, 0, args, options_);
    for (const Finding& f : result_.findings) ADD_FAILURE() << Describe(f);
    return counting_.launches().back();
  }
  // y[i] = x[i * stride + shift] with 256 threads in each of 4 blocks.
  LaunchCount Copy(int stride, int shift) {
    Builder b;
    auto x = b.Pointer("x", true), y = b.Pointer("y");
    Reg i = b.GlobalTid();
    b.Store(Type::kF32, y, i, b.Load(Type::kF32, x, b.Mul(i, b.I32(stride)), shift * 4));
    b.Ret();
    return Go(
        b, {4}, {256},
        Args().P(Make(static_cast<size_t>(1024 * std::max(stride, 1) + shift))).P(Make(1024, "y")));
  }
  // Shared memory read at index = tid.x * by_x + tid.y * by_y by a block of 32 x 32.
  LaunchCount SharedRead(int by_x, int by_y, Type type = Type::kF32, uint8_t components = 1) {
    Builder b;
    auto y = b.Pointer("y");
    auto s = b.SharedPtr(b.Shared("s", 48 << 10));
    Reg tx = b.Tid(), ty = b.Special(SpecialReg::kTidY);
    Reg index = b.Mad(ty, b.I32(by_y), b.Mul(tx, b.I32(by_x)));
    Reg value = b.Load(type, s, index, 0, isa::kMemCopy, components);
    b.Store(type, y, b.Mad(ty, b.I32(32), tx), value);
    b.Ret();
    options_.sanitize = false;
    return Go(b, {1}, {32, 32}, Args().P(Make(4096, "y")));
  }
  uint64_t Warps(uint64_t threads) const {
    return (threads + options_.warp_width - 1) / options_.warp_width;
  }

  Memory memory_{256u << 20};
  LaunchOptions options_;
  LaunchResult result_;
  Counting counting_{{.l2_bytes = 1 << 20}};
};

TEST_P(CountersTest, CoalescedCopyHasFourSectorsForEach32Lanes) {
  const LaunchCount c = Copy(1, 0);
  for (const MemoryCount& m : {c.total.load, c.total.store}) {
    EXPECT_EQ(m.requests, Warps(1024));
    EXPECT_EQ(m.sectors, 1024u / 8);
    EXPECT_EQ(m.lines, 1024u / 32);
    EXPECT_EQ(m.bytes, 4096u);
  }
  EXPECT_EQ(c.blocks, 4u);
  EXPECT_EQ(c.warps_per_block, Warps(256));
}

TEST_P(CountersTest, StrideTwoDoublesSectorsAndLines) {
  const LaunchCount c = Copy(2, 0);
  EXPECT_EQ(c.total.load.requests, Warps(1024));
  EXPECT_EQ(c.total.load.sectors, 2048u / 8);
  EXPECT_EQ(c.total.load.lines, 2048u / 32);
  EXPECT_EQ(c.total.load.bytes, 4096u);
}

TEST_P(CountersTest, StrideThirtyTwoGivesEachLaneALineOfItsOwn) {
  const LaunchCount c = Copy(32, 0);
  EXPECT_EQ(c.total.load.sectors, 1024u);
  EXPECT_EQ(c.total.load.lines, 1024u);
}

TEST_P(CountersTest, MisalignedWarpsTouchOneSectorAndOneLineMore) {
  const LaunchCount c = Copy(1, 1);
  EXPECT_EQ(c.total.load.sectors, 1024u / 8 + Warps(1024));
  EXPECT_EQ(c.total.load.lines, 1024u / 32 + Warps(1024));
}

TEST_P(CountersTest, BroadcastIsOneSectorARequest) {
  const LaunchCount c = Copy(0, 5);
  EXPECT_EQ(c.total.load.requests, Warps(1024));
  EXPECT_EQ(c.total.load.sectors, Warps(1024));
  EXPECT_EQ(c.total.load.lines, Warps(1024));
}

TEST_P(CountersTest, SixteenBytesALaneAreFourLinesForEach32Lanes) {
  Builder b;
  auto x = b.Pointer("x", true), y = b.Pointer("y");
  Reg i = b.GlobalTid();
  Reg v = b.Load(Type::kF32, x, i, 0, 0, 4);
  b.Store(Type::kF32, y, i, v, 0, 0, 4);
  b.Ret();
  const LaunchCount c = Go(b, {1}, {256}, Args().P(Make(1024)).P(Make(1024, "y")));
  EXPECT_EQ(c.total.load.requests, Warps(256));
  EXPECT_EQ(c.total.load.sectors, 128u);
  EXPECT_EQ(c.total.store.lines, 32u);
}

// The allocator's alignment counts, not the place in the host's memory.
TEST_P(CountersTest, AnImportedBufferCountsAsOneOfTheDevice) {
  alignas(64) static float host[1024 + 16];
  float* const odd = host + 4;
  ASSERT_TRUE(memory_.Import(odd, 4096, "imported").ok());
  Builder b;
  auto x = b.Pointer("x", true), y = b.Pointer("y");
  Reg i = b.GlobalTid();
  b.Store(Type::kF32, y, i, b.Load(Type::kF32, x, i));
  b.Ret();
  const LaunchCount c = Go(b, {4}, {256}, Args().P(odd).P(Make(1024, "y")));
  EXPECT_EQ(c.total.load.sectors, 128u);
}

TEST_P(CountersTest, ATransposeThroughSharedMemoryConflictsUnlessPadded) {
  const LaunchCount rows = SharedRead(1, 32);
  EXPECT_EQ(rows.total.shared_requests, Warps(1024));
  EXPECT_EQ(rows.total.shared_passes, 32u);
  const LaunchCount columns = SharedRead(32, 1);
  EXPECT_EQ(columns.total.shared_passes, 32u * 32);
  EXPECT_EQ(columns.total.shared_passes_ideal, 32u);
  const LaunchCount padded = SharedRead(33, 1);
  EXPECT_EQ(padded.total.shared_passes, 32u);
}

TEST_P(CountersTest, SharedBroadcastIsOnePass) {
  EXPECT_EQ(SharedRead(0, 1).total.shared_passes, 32u);
  EXPECT_EQ(SharedRead(0, 1, Type::kF64).total.shared_passes, 32u);
}

TEST_P(CountersTest, WideSharedAccessesGoInHalvesAndQuarters) {
  const LaunchCount pairs = SharedRead(1, 32, Type::kF64);
  EXPECT_EQ(pairs.total.shared_passes, 64u);
  EXPECT_EQ(pairs.total.shared_passes_ideal, 64u);
  const LaunchCount apart = SharedRead(2, 64, Type::kF64);  // every second pair: two to a bank
  EXPECT_EQ(apart.total.shared_passes, 128u);
  EXPECT_EQ(apart.total.shared_passes_ideal, 64u);
  const LaunchCount quads = SharedRead(1, 32, Type::kF32, 4);
  EXPECT_EQ(quads.total.shared_passes, 128u);
  EXPECT_EQ(quads.total.shared_passes_ideal, 128u);
  const LaunchCount bytes = SharedRead(1, 32, Type::kI8);  // four lanes to a word
  EXPECT_EQ(bytes.total.shared_passes, 32u);
}

TEST_P(CountersTest, AtomicsToOneAddressTakeTurns) {
  for (const bool one : {true, false}) {
    Builder b;
    auto x = b.Pointer("x");
    Reg i = b.Op2(Op::kSExt, Type::kI64, b.Mul(b.Tid(), b.I32(one ? 0 : 4)));
    b.at(b.pc() - 1).aux = static_cast<uint8_t>(Type::kI32);
    Reg address = b.Op2(Op::kAdd, Type::kI64, x.first, i);
    b.Atomic(isa::AtomicOp::kAdd, Type::kI32, {address, x.second}, b.I32(1));
    b.Ret();
    const LaunchCount c = Go(b, {2}, {256}, Args().P(Make(256)));
    EXPECT_EQ(c.total.atomic.requests, Warps(512));
    EXPECT_EQ(c.total.atomic_serial, one ? 512u : Warps(512));
    EXPECT_EQ(c.atomic_hottest, one ? 512u : 2u);
    EXPECT_EQ(c.total.atomic.sectors, one ? Warps(512) : 64u);
    EXPECT_EQ(c.warps_by_class[static_cast<size_t>(InstClass::kAtomic)], Warps(512));
  }
}

TEST_P(CountersTest, OnlyABranchThatSplitsAWarpDiverges) {
  for (const bool odd : {true, false}) {
    Builder b;
    auto y = b.Pointer("y");
    Reg t = b.Tid();
    Reg yes = odd ? b.ICmp(IntPredicate::kEq, b.Op2(Op::kAnd, Type::kI32, t, b.I32(1)), b.I32(1))
                  : b.ICmp(IntPredicate::kSlt, t, b.I32(32));
    uint32_t br = b.If(yes);
    b.Store(Type::kI32, y, t, t);
    const uint32_t store = b.line();
    b.ElseHere(br);
    b.Ret();
    const LaunchCount c = Go(b, {1}, {256}, Args().P(Make(256, "y")));
    EXPECT_EQ(c.total.branches, Warps(256));
    const uint64_t split = odd ? Warps(256) : (GetParam() == 32 ? 0 : 1);
    EXPECT_EQ(c.total.diverged, split);
    for (const LineCount& line : c.lines) {
      if (line.line.line != store) continue;
      EXPECT_EQ(line.count.lanes, odd ? 128u : 32u);
      EXPECT_EQ(line.count.warps, odd ? Warps(256) : 1u);
      EXPECT_EQ(line.count.store.requests, line.count.warps);
    }
  }
}

TEST_P(CountersTest, APartialWarpIsAWarpWithFewerLanes) {
  Builder b;
  auto y = b.Pointer("y");
  Reg t = b.Tid();
  b.Store(Type::kI32, y, t, t);
  b.Ret();
  const LaunchCount c = Go(b, {1}, {100}, Args().P(Make(256, "y")));
  EXPECT_EQ(c.total.store.requests, Warps(100));
  EXPECT_EQ(c.total.store.bytes, 400u);
  EXPECT_EQ(c.total.store.sectors, 13u);
  EXPECT_EQ(c.total.lanes, 100u * 3);  // tid, store, return
}

// Five turns of a loop with a barrier; before it warp 0 alone has n multiplications to do.
LaunchCount BarrierLoop(int n, auto&& go) {
  Builder b;
  auto y = b.Pointer("y");
  Reg t = b.Tid(), k = b.New(Type::kI32), v = b.New(Type::kI32);
  b.Set(k, b.I32(0));
  b.Set(v, b.I32(3));
  uint32_t head = b.pc();
  uint32_t br = b.If(b.ICmp(IntPredicate::kSlt, t, b.I32(32)));
  for (int i = 0; i < n; ++i) b.Emit(Op::kMul, Type::kI32, v, v, v);
  b.ElseHere(br);
  b.Sync();
  b.Emit(Op::kAdd, Type::kI32, k, k, b.I32(1));
  Reg more = b.ICmp(IntPredicate::kSlt, k, b.I32(5));
  b.Emit(Op::kCondBr, Type::kI1, isa::kNoReg, more, isa::kNoReg, isa::kNoReg, isa::kNoReg, head,
         b.pc() + 1);
  b.Store(Type::kI32, y, t, v);
  b.Ret();
  return go(b);
}

TEST_P(CountersTest, BarriersAndTheLongestStretchBetweenThem) {
  options_.sanitize = false;  // blocks write to the same place
  const auto go = [&](Builder& b) { return Go(b, {3}, {256}, Args().P(Make(256, "y"))); };
  const LaunchCount quick = BarrierLoop(1, go), slow = BarrierLoop(50, go);
  EXPECT_EQ(quick.total.barriers, 15u);
  EXPECT_EQ(slow.total.barriers, 15u);
  // Each multiplication waits 4 clocks for the one before; the other warps wait for warp 0.
  EXPECT_GE(slow.stretch_max, 49u * 4);
  EXPECT_LT(slow.stretch_max, 50u * 4 + 40);
  EXPECT_GE(slow.critical_path_max, 5 * 49u * 4);
  EXPECT_EQ(slow.critical_path_sum, 3 * slow.critical_path_max);
  EXPECT_GT(slow.critical_path_max, quick.critical_path_max + 5 * 48 * 4);
  EXPECT_GE(slow.total.barrier_wait, 15u * (Warps(256) - 1) * 49 * 4);
}

TEST_P(CountersTest, ASecondReadComesFromL1AndASecondBlockFromL2) {
  Builder b;
  auto x = b.Pointer("x", true), y = b.Pointer("y");
  Reg t = b.Tid();
  Reg first = b.Load(Type::kF32, x, t), second = b.Load(Type::kF32, x, t);
  b.Store(Type::kF32, y, t, b.Op2(Op::kFAdd, Type::kF32, first, second));
  b.Ret();
  options_.sanitize = false;  // blocks write to the same place
  const Args args = Args().P(Make(256)).P(Make(256, "y"));
  const LaunchCount c = Go(b, {3}, {256}, args);
  EXPECT_EQ(c.total.load.sectors, 6u * 32);
  EXPECT_EQ(c.total.load.dram, 32u);
  EXPECT_EQ(c.total.load.l2_hits, 2u * 32);
  EXPECT_EQ(c.total.load.l1_hits, 3u * 32);
  EXPECT_EQ(c.total.store.dram, 32u);  // the same place again stays in L2
  EXPECT_EQ(c.total.store.l2_hits, 2u * 32);
  EXPECT_EQ(Go(b, {3}, {256}, args).total.load.dram, 0u) << "L2 keeps it for the next launch";
  counting_.Reset();
  EXPECT_EQ(Go(b, {3}, {256}, args).total.load.dram, 32u);
}

TEST_P(CountersTest, WithoutRoomInL1EverythingGoesToL2) {
  counting_.SetL1(0);
  Builder b;
  auto x = b.Pointer("x", true), y = b.Pointer("y");
  Reg t = b.Tid();
  b.Load(Type::kF32, x, t);
  b.Store(Type::kF32, y, t, b.Load(Type::kF32, x, t));
  b.Ret();
  const LaunchCount c = Go(b, {1}, {256}, Args().P(Make(256)).P(Make(256, "y")));
  EXPECT_EQ(c.total.load.l1_hits, 0u);
  EXPECT_EQ(c.total.load.l2_hits, 32u);
}

// More bytes apart never make less traffic.
TEST_P(CountersTest, TrafficGrowsWithTheStride) {
  MemoryCount before;
  for (int stride = 0; stride <= 40; ++stride) {
    counting_.Reset();
    const MemoryCount now = Copy(stride, 0).total.load;
    EXPECT_GE(now.sectors, before.sectors) << stride;
    EXPECT_GE(now.lines, before.lines) << stride;
    EXPECT_GE(now.dram, before.dram) << stride;
    EXPECT_EQ(now.sectors, now.l1_hits + now.l2_hits + now.dram) << stride;
    before = now;
  }
}

TEST_P(CountersTest, LanesMayGoToDifferentAllocations) {
  Builder b;
  auto x = b.Pointer("x", true), z = b.Pointer("z", true), y = b.Pointer("y");
  Reg t = b.Tid();
  Reg odd = b.ICmp(IntPredicate::kEq, b.Op2(Op::kAnd, Type::kI32, t, b.I32(1)), b.I32(1));
  Reg address = b.Op2(Op::kSelect, Type::kI64, odd, x.first, z.first);
  Reg provenance = b.Op2(Op::kSelect, Type::kI32, odd, x.second, z.second);
  b.Store(Type::kF32, y, t, b.Load(Type::kF32, {address, provenance}, t));
  b.Ret();
  const LaunchCount c = Go(b, {1}, {256}, Args().P(Make(256)).P(Make(256, "z")).P(Make(256, "y")));
  EXPECT_EQ(c.total.load.requests, Warps(256));
  EXPECT_EQ(c.total.load.sectors, 2u * 32);
  EXPECT_EQ(c.total.load.bytes, 1024u);
  // The select of the provenance is no instruction of the kernel; two selects would be 16 at 32.
  EXPECT_EQ(c.warps_by_class[static_cast<size_t>(InstClass::kLogic)], 3 * Warps(256));
}

TEST_P(CountersTest, LinesAddUpToTheTotal) {
  const LaunchCount c = Copy(3, 1);
  Count sum;
  for (const LineCount& line : c.lines) {
    EXPECT_EQ(line.file, "k.cu");
    sum.Add(line.count);
  }
  EXPECT_EQ(sum.warps, c.total.warps);
  EXPECT_EQ(sum.lanes, result_.lane_instructions);
  EXPECT_EQ(sum.load.sectors, c.total.load.sectors);
  uint64_t by_class = 0;
  for (const uint64_t n : c.warps_by_class) by_class += n;
  EXPECT_EQ(by_class, c.total.warps);
}

TEST_P(CountersTest, NothingButTheClockDependsOnTheOrder) {
  const LaunchCount lockstep = Copy(3, 1);
  for (const uint64_t seed : {1u, 2u, 99u}) {
    options_.order_seed = seed;
    const LaunchCount c = Copy(3, 1);
    EXPECT_EQ(c.total.warps, lockstep.total.warps);
    EXPECT_EQ(c.total.load.requests, lockstep.total.load.requests);
    EXPECT_EQ(c.total.load.sectors, lockstep.total.load.sectors);
    EXPECT_EQ(c.total.load.lines, lockstep.total.load.lines);
  }
}

TEST_P(CountersTest, CountingChangesNothingElse) {
  Copy(3, 1);
  const LaunchResult counted = result_;
  Builder b;
  auto x = b.Pointer("x", true), y = b.Pointer("y");
  Reg i = b.GlobalTid();
  b.Store(Type::kF32, y, i, b.Load(Type::kF32, x, b.Mul(i, b.I32(3)), 4));
  b.Ret();
  auto program = Program::Load(memory_, b.module());
  options_.counting = nullptr;
  const LaunchResult plain = program.value()->Launch(
      "k", {4}, {256}, 0, Args().P(Make(4096)).P(Make(1024, "y")), options_);
  EXPECT_EQ(plain.dispatches, counted.dispatches);
  EXPECT_EQ(plain.lane_instructions, counted.lane_instructions);
  EXPECT_EQ(plain.global_load_bytes, counted.global_load_bytes);
}

INSTANTIATE_TEST_SUITE_P(Widths, CountersTest, ::testing::Values(32u, 128u));

// --- requests, against sets ---

class Rng {
 public:
  explicit Rng(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>(random_.Below(static_cast<int64_t>(bound)));
  }

 private:
  SplitMix64 random_;
};

struct Brute {
  uint64_t requests = 0, sectors = 0, lines = 0, serial = 0;
};
Brute BySets(const LaneAddresses& a) {
  Brute r;
  std::map<int, std::set<uint64_t>> sectors, lines;
  std::map<int, std::map<uint64_t, uint64_t>> meeting;
  for (int i = 0; i < a.n; ++i) {
    if (a.mask != nullptr && a.mask[i] == 0) continue;
    const int warp = (a.lo + i) / a.width;
    for (uint64_t byte = a.offset[i]; byte < a.offset[i] + a.bytes; ++byte) {
      sectors[warp].insert(byte / 32);
      lines[warp].insert(byte / 128);
    }
    ++meeting[warp][a.offset[i]];
  }
  r.requests = sectors.size();
  for (const auto& [warp, s] : sectors) r.sectors += s.size();
  for (const auto& [warp, s] : lines) r.lines += s.size();
  for (const auto& [warp, m] : meeting) {
    uint64_t most = 0;
    for (const auto& [address, n] : m) most = std::max(most, n);
    r.serial += most;
  }
  return r;
}

TEST(RequestCostTest, RandomAddressesAgreeWithSets) {
  Rng rng(1);
  for (int round = 0; round < 2000; ++round) {
    const int width = 32 << rng.Below(3);
    const int lo = static_cast<int>(rng.Below(200)), n = 1 + static_cast<int>(rng.Below(300));
    const uint64_t range = uint64_t{1} << (4 + rng.Below(14));
    const uint32_t bytes = 1u << rng.Below(5);
    std::vector<uint64_t> offset(static_cast<size_t>(n));
    std::vector<uint8_t> mask(static_cast<size_t>(n));
    const bool dense = rng.Below(2) == 0;
    for (size_t i = 0; i < offset.size(); ++i) {
      offset[i] = (1 << 20) + rng.Below(range) * (rng.Below(4) == 0 ? 1 : bytes);
      mask[i] = rng.Below(3) != 0;
    }
    mask[rng.Below(offset.size())] = 1;
    LaneAddresses lanes;
    lanes.offset = offset.data();
    lanes.mask = dense ? nullptr : mask.data();
    lanes.lo = lo;
    lanes.n = n;
    lanes.bytes = bytes;
    lanes.width = width;
    const Brute expected = BySets(lanes);
    RequestCost cost;
    FindCost(lanes, CostKind::kAtomic, &cost);
    ASSERT_EQ(cost.requests, expected.requests);
    ASSERT_EQ(cost.sectors, expected.sectors);
    ASSERT_EQ(cost.touches.size(), expected.lines);
    ASSERT_EQ(cost.serial, expected.serial);
  }
}

// The same distances elsewhere are found again; another phase is not taken for the same.
TEST(RequestCostTest, RememberedPatternsGiveWhatAFreshLookGives) {
  Rng rng(2);
  CostMemo memo;
  const int n = 96;
  for (int round = 0; round < 500; ++round) {
    const uint64_t start = 4096 + rng.Below(64) * 4, stride = 4 * (1 + rng.Below(3));
    std::vector<uint64_t> offset(n), scratch(n);
    std::vector<int32_t> index(n);
    for (int i = 0; i < n; ++i) {
      index[static_cast<size_t>(i)] =
          static_cast<int32_t>(7 + static_cast<uint64_t>(i) * stride / 4);
      offset[static_cast<size_t>(i)] = start + static_cast<uint64_t>(i) * stride;
    }
    for (const CostKind kind : {CostKind::kGlobal, CostKind::kShared}) {
      LaneAddresses lanes;
      lanes.offset = offset.data();
      lanes.n = n;
      lanes.bytes = 4;
      RequestCost fresh;
      FindCost(lanes, kind, &fresh);
      const RequestCost by_offset = memo.OfOffsets(lanes, 0, kind);
      const RequestCost by_index =
          memo.OfIndex(index.data(), start, 4, lanes, kind, scratch.data());
      for (const RequestCost& cost : {by_offset, by_index}) {
        ASSERT_EQ(cost.requests, fresh.requests);
        ASSERT_EQ(cost.sectors, fresh.sectors);
        ASSERT_EQ(cost.passes, fresh.passes);
        ASSERT_EQ(cost.touches.size(), fresh.touches.size());
        for (size_t i = 0; i < fresh.touches.size(); ++i) {
          ASSERT_EQ(cost.touches[i].line, fresh.touches[i].line);
          ASSERT_EQ(cost.touches[i].sectors, fresh.touches[i].sectors);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kuafu::simt
