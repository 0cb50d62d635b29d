// SPDX-License-Identifier: Apache-2.0
// What counting costs: each kernel with and without, alternately, in one process; the ratio of the
// best processor times. Kernels: a tiled matrix product, a vector sum, a tree in shared memory, and
// a gather at random places, whose addresses have no pattern to remember.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "simt/counters.h"
#include "simt/module_builder.h"
#include "simt/simt.h"

using namespace kuafu::simt;           // NOLINT
using namespace kuafu::simt::testing;  // NOLINT
using kuafu::isa::IntPredicate;
using kuafu::isa::kNoReg;

namespace {

constexpr int kN = 256;
constexpr int kCount = 1 << 20;

Builder MatMul() {
  Builder b;
  auto pa = b.Pointer("a", true), pb = b.Pointer("b", true), pc = b.Pointer("c");
  auto sa = b.SharedPtr(b.Shared("sa", 1024)), sb = b.SharedPtr(b.Shared("sb", 1024));
  Reg n = b.I32(kN), tx = b.Tid(), ty = b.Special(kuafu::isa::SpecialReg::kTidY);
  Reg row = b.Mad(b.Special(kuafu::isa::SpecialReg::kCtaidY, true), b.I32(16), ty);
  Reg col = b.Mad(b.Bid(), b.I32(16), tx);
  Reg acc = b.New(Type::kF32), tile = b.New(Type::kI32);
  b.Set(acc, b.F32(0));
  b.Set(tile, b.I32(0));
  Reg base = b.Mad(ty, b.I32(16), tx), row16 = b.Mul(ty, b.I32(16));
  uint32_t head = b.pc();
  uint32_t exit = b.If(b.ICmp(IntPredicate::kSlt, tile, n));
  b.Store(Type::kF32, sa, base, b.Load(Type::kF32, pa, b.Add(b.Mad(row, n, tile), tx)));
  b.Store(Type::kF32, sb, base, b.Load(Type::kF32, pb, b.Mad(b.Add(tile, ty), n, col)));
  b.Sync();
  Reg k = b.New(Type::kI32);
  b.Set(k, b.I32(0));
  uint32_t inner = b.pc();
  Reg x = b.Load(Type::kF32, sa, b.Add(row16, k)),
      y = b.Load(Type::kF32, sb, b.Mad(k, b.I32(16), tx));
  b.Emit(Op::kFma, Type::kF32, acc, x, y, acc);
  b.Emit(Op::kAdd, Type::kI32, k, k, b.I32(1));
  Reg more = b.ICmp(IntPredicate::kSlt, k, b.I32(16));
  b.Emit(Op::kCondBr, Type::kI1, kNoReg, more, kNoReg, kNoReg, kNoReg, inner, b.pc() + 1);
  b.Sync();
  b.Emit(Op::kAdd, Type::kI32, tile, tile, b.I32(16));
  b.Jump(head);
  b.ElseHere(exit);
  b.Store(Type::kF32, pc, b.Mad(row, n, col), acc);
  b.Ret();
  return b;
}

Builder VectorSum(bool gather) {
  Builder b;
  auto pa = b.Pointer("a", true), pb = b.Pointer("b", true), pc = b.Pointer("c");
  Reg i = b.GlobalTid();
  uint32_t br = b.If(b.ICmp(IntPredicate::kSlt, i, b.I32(kCount - 3)));
  Reg j = i;
  if (gather) {  // a full-period generator: neighbours go far apart
    j = b.Op2(Op::kAnd, Type::kI32, b.Mul(b.Add(i, b.I32(12345)), b.I32(1103515245)),
              b.I32(kCount - 1));
  }
  Reg x = b.Load(Type::kF32, pa, j), y = b.Load(Type::kF32, pb, i);
  b.Store(Type::kF32, pc, i, b.Op2(Op::kFAdd, Type::kF32, x, y));
  b.ElseHere(br);
  b.Ret();
  return b;
}

Builder Tree() {
  Builder b;
  auto pa = b.Pointer("a", true);
  b.Pointer("b", true);
  auto pc = b.Pointer("c");
  auto s = b.SharedPtr(b.Shared("s", 1024));
  Reg t = b.Tid();
  b.Store(Type::kF32, s, t, b.Load(Type::kF32, pa, b.GlobalTid()));
  b.Sync();
  for (int step = 128; step > 0; step /= 2) {
    uint32_t br = b.If(b.ICmp(IntPredicate::kSlt, t, b.I32(step)));
    Reg x = b.Load(Type::kF32, s, t), y = b.Load(Type::kF32, s, t, step * 4);
    b.Store(Type::kF32, s, t, b.Op2(Op::kFAdd, Type::kF32, x, y));
    b.ElseHere(br);
    b.Sync();
  }
  uint32_t br = b.If(b.ICmp(IntPredicate::kEq, t, b.I32(0)));
  b.Store(Type::kF32, pc, b.Bid(), b.Load(Type::kF32, s, t));
  b.ElseHere(br);
  b.Ret();
  return b;
}

}  // namespace

int main() {
  Memory memory(1u << 30);
  auto make = [&](const char* name) {
    return memory.Allocate(size_t{kCount} * 4, 256, name, true).value();
  };
  void *a = make("a"), *b = make("b"), *c = make("c");
  struct Case {
    const char* name;
    Builder builder;
    Dim3 grid, block;
  };
  std::vector<Case> cases;
  cases.push_back({"matmul 256^3", MatMul(), {kN / 16, kN / 16}, {16, 16}});
  cases.push_back({"vector sum 1M", VectorSum(false), {kCount / 256}, {256}});
  cases.push_back({"tree 1M", Tree(), {kCount / 256}, {256}});
  cases.push_back({"gather 1M", VectorSum(true), {kCount / 256}, {256}});
  CountingOptions model;
  Counting counting(model);
  for (Case& test : cases) {
    auto program = Program::Load(memory, test.builder.module());
    if (!program.ok()) return 1;
    for (bool sanitize : {false, true}) {
      double best[2] = {1e9, 1e9};
      for (int round = 0; round < 10; ++round) {
        LaunchOptions options;
        options.sanitize = sanitize;
        options.counting = round % 2 == 0 ? nullptr : &counting;
        std::clock_t t0 = std::clock();
        LaunchResult r =
            program.value()->Launch("k", test.grid, test.block, 0, Args().P(a).P(b).P(c), options);
        const double ms = 1e3 * static_cast<double>(std::clock() - t0) / CLOCKS_PER_SEC;
        best[round % 2] = std::min(best[round % 2], ms);
        for (const Finding& f : r.findings) std::printf("  %s\n", Describe(f).c_str());
      }
      std::printf("%-14s %s: %6.2f ms, counted %6.2f ms, ratio %.2f\n", test.name,
                  sanitize ? "sanitized" : "plain    ", best[0], best[1], best[1] / best[0]);
    }
  }
  return 0;
}
