// SPDX-License-Identifier: Apache-2.0
// 512^3 tiled matrix product, 256 threads, 16 x 16 tiles: the yardstick for the interpreter. Times
// are processor time, so that a busy machine does not count.
#include <cstdio>
#include <ctime>

#include "simt/module_builder.h"
#include "simt/simt.h"

using namespace kuafu::simt;           // NOLINT
using namespace kuafu::simt::testing;  // NOLINT

int main() {
  constexpr int kN = 512;
  Builder b;
  auto pa = b.Pointer("a", true), pb = b.Pointer("b", true), pc = b.Pointer("c");
  Reg n = b.IntParam("n");
  auto sa = b.SharedPtr(b.Shared("sa", 1024)), sb = b.SharedPtr(b.Shared("sb", 1024));
  Reg tx = b.Tid(), ty = b.Special(kuafu::isa::SpecialReg::kTidY);
  Reg row = b.Mad(b.Special(kuafu::isa::SpecialReg::kCtaidY, true), b.I32(16), ty);
  Reg col = b.Mad(b.Bid(), b.I32(16), tx);
  Reg acc = b.New(Type::kF32), tile = b.New(Type::kI32);
  b.Set(acc, b.F32(0));
  b.Set(tile, b.I32(0));
  Reg base = b.Mad(ty, b.I32(16), tx), row16 = b.Mul(ty, b.I32(16));
  uint32_t head = b.pc();
  uint32_t exit = b.If(b.ICmp(kuafu::isa::IntPredicate::kSlt, tile, n));
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
  Reg more = b.ICmp(kuafu::isa::IntPredicate::kSlt, k, b.I32(16));
  b.Emit(Op::kCondBr, Type::kI1, kuafu::isa::kNoReg, more, kuafu::isa::kNoReg, kuafu::isa::kNoReg,
         kuafu::isa::kNoReg, inner, b.pc() + 1);
  b.Sync();
  b.Emit(Op::kAdd, Type::kI32, tile, tile, b.I32(16));
  b.Jump(head);
  b.ElseHere(exit);
  b.Store(Type::kF32, pc, b.Mad(row, n, col), acc);
  b.Ret();

  Memory memory(1u << 30);
  auto make = [&](const char* name) {
    return static_cast<float*>(memory.Allocate(kN * kN * 4, 256, name, true).value());
  };
  float *ma = make("a"), *mb = make("b"), *mc = make("c");
  for (int i = 0; i < kN * kN; ++i)
    ma[i] = static_cast<float>(i % 7), mb[i] = static_cast<float>(i % 5);
  auto program = Program::Load(memory, b.module());
  if (!program.ok()) return 1;
  for (bool sanitize : {false, false, true, true}) {
    LaunchOptions options;
    options.sanitize = sanitize;
    std::clock_t t0 = std::clock();
    LaunchResult r = program.value()->Launch("k", {kN / 16, kN / 16}, {16, 16}, 0,
                                             Args().P(ma).P(mb).P(mc).I(kN), options);
    double ms = 1e3 * static_cast<double>(std::clock() - t0) / CLOCKS_PER_SEC;
    std::printf("%s: %.1f ms, %llu dispatches, %zu findings\n", sanitize ? "sanitize" : "plain", ms,
                static_cast<unsigned long long>(r.dispatches), r.findings.size());
    for (const Finding& f : r.findings) std::printf("  %s\n", Describe(f).c_str());
  }
  for (int i : {0, 12345, kN * kN - 1}) {
    float sum = 0;
    for (int q = 0; q < kN; ++q) sum += ma[i / kN * kN + q] * mb[q * kN + i % kN];
    if (sum != mc[i])
      std::printf("wrong at %d: %g instead of %g\n", i, static_cast<double>(mc[i]),
                  static_cast<double>(sum));
  }
  return 0;
}
