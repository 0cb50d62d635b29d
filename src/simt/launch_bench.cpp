// SPDX-License-Identifier: Apache-2.0
// What a small launch costs, since a candidate is judged by many of them: 4096 elements scaled, 64
// rows summed through shared memory, each with the sanitizer on and off. Processor time.
#include <cstdio>
#include <ctime>

#include "simt/module_builder.h"
#include "simt/simt.h"

using namespace kuafu::simt;           // NOLINT
using namespace kuafu::simt::testing;  // NOLINT

namespace {

// y[i] = a * x[i] + y0, for i < n
void Elementwise(Builder& b) {
  auto x = b.Pointer("x", true), y = b.Pointer("y");
  Reg n = b.IntParam("n");
  Reg i = b.GlobalTid();
  uint32_t out = b.If(b.ICmp(kuafu::isa::IntPredicate::kSlt, i, n));
  Reg v = b.Load(Type::kF32, x, i), d = b.New(Type::kF32);
  b.Emit(Op::kFma, Type::kF32, d, v, b.F32(2), b.F32(1));
  b.Store(Type::kF32, y, i, d);
  b.ElseHere(out);
  b.Ret();
}

// One block per row of 256: s[t] = x[row][t]; tree; y[row] = s[0]
void RowSum(Builder& b) {
  auto x = b.Pointer("x", true), y = b.Pointer("y");
  auto s = b.SharedPtr(b.Shared("s", 1024));
  Reg t = b.Tid(), row = b.Bid();
  b.Store(Type::kF32, s, t, b.Load(Type::kF32, x, b.Mad(row, b.I32(256), t)));
  b.Sync();
  for (int step = 128; step > 0; step /= 2) {
    uint32_t skip = b.If(b.ICmp(kuafu::isa::IntPredicate::kSlt, t, b.I32(step)));
    Reg sum = b.New(Type::kF32), u = b.Load(Type::kF32, s, t);
    b.Emit(Op::kFAdd, Type::kF32, sum, u, b.Load(Type::kF32, s, t, step * 4));
    b.Store(Type::kF32, s, t, sum);
    b.ElseHere(skip);
    b.Sync();
  }
  uint32_t skip = b.If(b.ICmp(kuafu::isa::IntPredicate::kEq, t, b.I32(0)));
  b.Store(Type::kF32, y, row, b.Load(Type::kF32, s));
  b.ElseHere(skip);
  b.Ret();
}

}  // namespace

int main() {
  constexpr int kLaunches = 400;
  for (bool rows : {false, true}) {
    Builder b;
    rows ? RowSum(b) : Elementwise(b);
    Memory memory(1u << 30);
    auto program = Program::Load(memory, b.module());
    if (!program.ok()) return 1;
    size_t count = rows ? 64 * 256 : 4096;
    auto* x = memory.Allocate(count * 4, 256, "x", true).value();
    // As a test run does it: outputs are new and unwritten each time.
    for (bool sanitize : {false, true}) {
      LaunchOptions options;
      options.sanitize = sanitize;
      double seconds = 0;
      size_t findings = 0;
      for (int k = 0; k < kLaunches; ++k) {
        auto* y = memory.Allocate(count * 4, 256, "y", false).value();
        std::clock_t t0 = std::clock();
        LaunchResult r =
            program.value()->Launch("k", {rows ? 64u : 16u}, {256}, 0,
                                    Args().P(x).P(y).I(static_cast<int32_t>(count)), options);
        seconds += static_cast<double>(std::clock() - t0) / CLOCKS_PER_SEC;
        findings += r.findings.size();
        (void)memory.Free(y);
      }
      std::printf("%s, %s: %.1f us per launch, %zu findings\n",
                  rows ? "64 row sums" : "4096 elements", sanitize ? "sanitized" : "plain",
                  1e6 * seconds / kLaunches, findings);
    }
  }
  return 0;
}
