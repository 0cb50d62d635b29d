// SPDX-License-Identifier: Apache-2.0
// Goal: the estimate follows live ranges, and takes nothing for what costs no register. Method:
// functions whose widest place is counted by hand.
#include "isa/pressure.h"

#include <gtest/gtest.h>

namespace kuafu::isa {
namespace {

class PressureTest : public ::testing::Test {
 protected:
  PressureTest() {
    module_.functions.emplace_back();
    fn().is_kernel = true;
  }
  Function& fn() { return module_.functions.back(); }
  uint32_t New(Type type) {
    fn().registers.push_back({type, false});
    return static_cast<uint32_t>(fn().registers.size() - 1);
  }
  Inst& Emit(Op op, Type type, uint32_t dst, uint32_t a = kNoReg, uint32_t b = kNoReg,
             uint32_t c = kNoReg, uint32_t d = kNoReg) {
    Inst inst;
    inst.op = op;
    inst.type = type;
    inst.dst = dst;
    inst.a = a;
    inst.b = b;
    inst.c = c;
    inst.d = d;
    fn().code.push_back(inst);
    return fn().code.back();
  }
  uint32_t Value(Type type = Type::kF32) {
    const uint32_t reg = New(type);
    Emit(Op::kSpecial, type, reg);
    return reg;
  }
  void Ret() {
    fn().operands.push_back(0);
    Emit(Op::kRet, Type::kI32, kNoReg).extra = static_cast<uint32_t>(fn().operands.size() - 1);
  }
  // A loop that makes `values` floats and a counter in each turn.
  uint32_t RegistersWithLoop(int values, bool barrier) {
    module_.functions.clear();
    module_.functions.emplace_back();
    fn().is_kernel = true;
    const uint32_t counter = Value(Type::kI32), more = New(Type::kI1);
    const auto head = static_cast<uint32_t>(fn().code.size());
    for (int i = 0; i < values; ++i) Value();
    if (barrier) Emit(Op::kBarrier, Type::kI32, kNoReg);
    Emit(Op::kAdd, Type::kI32, counter, counter, counter);
    Emit(Op::kICmp, Type::kI1, more, counter, counter);
    Inst& branch = Emit(Op::kCondBr, Type::kI1, kNoReg, more);
    branch.imm = head;
    branch.extra = static_cast<uint32_t>(fn().code.size());
    Ret();
    return EstimateRegisters(module_, 0).registers;
  }
  uint32_t Live() { return EstimateRegisters(module_, 0).live_max; }
  Module module_;
};

TEST_F(PressureTest, ValuesThatLiveAtOnceAddUp) {
  std::vector<uint32_t> values;
  for (int i = 0; i < 10; ++i) values.push_back(Value());
  uint32_t sum = values[0];
  for (int i = 1; i < 10; ++i) {
    const uint32_t next = New(Type::kF32);
    Emit(Op::kFAdd, Type::kF32, next, sum, values[static_cast<size_t>(i)]);
    sum = next;
  }
  Ret();
  EXPECT_EQ(Live(), 10u);
}

TEST_F(PressureTest, ValuesOneAfterTheOtherDoNot) {
  for (int i = 0; i < 10; ++i) {
    const uint32_t value = Value(), twice = New(Type::kF32);
    Emit(Op::kFAdd, Type::kF32, twice, value, value);
  }
  Ret();
  EXPECT_EQ(Live(), 1u);
}

TEST_F(PressureTest, SixtyFourBitsAreTwoRegistersAndPredicatesNone) {
  const uint32_t wide = Value(Type::kF64), predicate = Value(Type::kI1), half = Value(Type::kF16);
  const uint32_t out = New(Type::kF64);
  Emit(Op::kSelect, Type::kF64, out, predicate, wide, wide);
  Emit(Op::kFAdd, Type::kF16, New(Type::kF16), half, half);
  Ret();
  EXPECT_EQ(Live(), 3u);
}

TEST_F(PressureTest, ConstantsParametersAndProvenanceAreFree) {
  const uint32_t constant = New(Type::kI64), pointer = New(Type::kI64),
                 provenance = New(Type::kI32);
  fn().constants.push_back({constant, 1});
  Param p;
  p.reg = pointer;
  p.prov_reg = provenance;
  fn().params.push_back(p);
  const uint32_t moved = New(Type::kI32), value = New(Type::kF32);
  Emit(Op::kMov, Type::kI32, moved, provenance);
  Emit(Op::kLoad, Type::kF32, value, pointer, constant, moved).imm = Inst::PackMem(0, 4, 2, 1);
  Emit(Op::kStore, Type::kF32, kNoReg, pointer, constant, moved, value).imm =
      Inst::PackMem(0, 4, 2, 1);
  Ret();
  EXPECT_EQ(Live(), 1u);
}

TEST_F(PressureTest, AValueUsedAfterALoopLivesThroughIt) {
  const uint32_t kept = Value(), counter = Value(Type::kI32);
  const auto head = static_cast<uint32_t>(fn().code.size());
  const uint32_t a = Value(), b = Value(), sum = New(Type::kF32), more = New(Type::kI1);
  Emit(Op::kFAdd, Type::kF32, sum, a, b);
  Emit(Op::kAdd, Type::kI32, counter, counter, counter);
  Emit(Op::kICmp, Type::kI1, more, counter, counter);
  Inst& branch = Emit(Op::kCondBr, Type::kI1, kNoReg, more);
  branch.imm = head;
  branch.extra = static_cast<uint32_t>(fn().code.size());
  Emit(Op::kFAdd, Type::kF32, New(Type::kF32), kept, kept);
  Ret();
  EXPECT_EQ(Live(), 4u);  // kept, counter, a, b
}

TEST_F(PressureTest, LoadedVectorsTakeARegisterForEachComponent) {
  const uint32_t address = Value(Type::kI64), provenance = New(Type::kI32);
  const uint32_t x = New(Type::kF32);
  for (int i = 0; i < 3; ++i) New(Type::kF32);
  Emit(Op::kLoad, Type::kF32, x, address, kNoReg, provenance).imm = Inst::PackMem(0, 16, 4, 4);
  Emit(Op::kStore, Type::kF32, kNoReg, address, kNoReg, provenance, x).imm =
      Inst::PackMem(0, 16, 4, 4);
  Ret();
  EXPECT_EQ(Live(), 6u);
}

TEST_F(PressureTest, LaunchBoundsLimitWhatTheCompilerTakes) {
  std::vector<uint32_t> values;
  for (int i = 0; i < 300; ++i) values.push_back(Value());
  for (const uint32_t v : values) Emit(Op::kFAdd, Type::kF32, New(Type::kF32), v, v);
  Ret();
  EXPECT_EQ(EstimateRegisters(module_, 0).registers, 255u);
  fn().max_threads = 1024;
  EXPECT_EQ(EstimateRegisters(module_, 0).registers, 64u);
}

TEST_F(PressureTest, AShortLoopIsUnrolledWhileRegistersAreFree) {
  const uint32_t four = RegistersWithLoop(4, false);
  EXPECT_GT(four, RegistersWithLoop(0, false));
  EXPECT_LE(four, 32u);
  EXPECT_EQ(RegistersWithLoop(40, false), 32u);
}

TEST_F(PressureTest, ALongLoopOrOneWithABarrierIsNotUnrolled) {
  const uint32_t least = RegistersWithLoop(1, true);
  EXPECT_EQ(RegistersWithLoop(40, true), least);
  EXPECT_EQ(RegistersWithLoop(70, false), least);
}

TEST_F(PressureTest, SmallLocalArraysAreRegistersAndLargeOnesAreMemory) {
  Ret();
  const uint32_t without = EstimateRegisters(module_, 0).registers;
  fn().frame_bytes = 256;
  EXPECT_EQ(EstimateRegisters(module_, 0).registers, 68u);  // and the overhead of four
  fn().frame_bytes = 4096;
  EXPECT_EQ(EstimateRegisters(module_, 0).registers, without);
}

TEST_F(PressureTest, MoreLiveValuesNeverNeedFewerRegisters) {
  uint32_t before = 0;
  for (int n = 1; n < 80; n += 3) {
    module_.functions.clear();
    module_.functions.emplace_back();
    fn().is_kernel = true;
    std::vector<uint32_t> values;
    for (int i = 0; i < n; ++i) values.push_back(Value());
    for (const uint32_t v : values) Emit(Op::kFAdd, Type::kF32, New(Type::kF32), v, v);
    Ret();
    const uint32_t now = EstimateRegisters(module_, 0).registers;
    EXPECT_GE(now, before);
    before = now;
  }
}

TEST_F(PressureTest, AnUnknownKernelNeedsNothing) {
  EXPECT_EQ(EstimateRegisters(module_, 7).registers, 0u);
}

}  // namespace
}  // namespace kuafu::isa
