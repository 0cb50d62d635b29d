// SPDX-License-Identifier: Apache-2.0
// Goal: what Write makes Read accepts unchanged, and nothing damaged or out of range gets through.
// Method: a small module, then every truncation, every flipped byte, and one bad index of each
// kind.
#include "isa/isa.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>

namespace kuafu::isa {
namespace {

// y[i] = x[i] + x[i], without bounds: enough to hold parameters, a load, an add, a store and a
// branch.
Module Doubler() {
  Module m;
  m.source_name = "doubler.cu";
  m.files = {"doubler.cu"};
  m.lines = {{}, {0, 3, 5}};
  Function f;
  f.name = f.pretty = "doubler";
  f.is_kernel = true;
  f.registers = {{Type::kI64, true},
                 {Type::kI32, true},
                 {Type::kI32, false},
                 {Type::kF32, false},
                 {Type::kI1, false}};
  f.params = {{"x", "float*", 0, 8, true, false, 0, 1}};
  f.operands = {0};
  const int64_t mem = Inst::PackMem(-4, 4, 2, 1);
  f.code = {
      {.op = Op::kSpecial,
       .type = Type::kI32,
       .dst = 2,
       .imm = static_cast<int>(SpecialReg::kTidX)},
      {.op = Op::kLoad,
       .type = Type::kF32,
       .dst = 3,
       .a = 0,
       .b = 2,
       .c = 1,
       .line = 1,
       .imm = mem},
      {.op = Op::kFAdd, .type = Type::kF32, .dst = 3, .a = 3, .b = 3, .line = 1},
      {.op = Op::kStore, .type = Type::kF32, .a = 0, .b = 2, .c = 1, .d = 3, .line = 1, .imm = mem},
      {.op = Op::kRet},
  };
  m.functions = {f};
  return m;
}

TEST(IsaTest, RoundTripKeepsEveryByte) {
  const std::vector<uint8_t> bytes = Write(Doubler());
  Result<Module> module = Read(bytes);
  ASSERT_TRUE(module.ok()) << module.error().ToString();
  EXPECT_EQ(Write(module.value()), bytes);
  EXPECT_EQ(Disassemble(module.value()), Disassemble(Doubler()));
}

TEST(IsaTest, MemoryConstantsSurvivePacking) {
  Inst i;
  i.imm = Inst::PackMem(-12, 65535, 4, 16);
  EXPECT_EQ(i.Offset(), -12);
  EXPECT_EQ(i.Scale(), 65535u);
  EXPECT_EQ(i.AlignLog2(), 4u);
  EXPECT_EQ(i.Components(), 16u);
}

TEST(IsaTest, EveryTruncationAndEveryFlippedByteIsRefused) {
  const std::vector<uint8_t> good = Write(Doubler());
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_FALSE(Read(std::span(good).first(n)).ok()) << "truncated to " << n;
    std::vector<uint8_t> bad = good;
    bad[n] ^= 0x41;
    EXPECT_FALSE(Read(bad).ok()) << "flipped byte " << n;
  }
}

// Each entry damages one thing that the interpreter would otherwise index with.
TEST(IsaTest, OutOfRangeIndicesAreRefused) {
  using Damage = void (*)(Module&);
  const Damage damages[] = {
      [](Module& m) { m.functions[0].code[2].a = 99; },
      [](Module& m) { m.functions[0].code[2].a = 2; },  // i32 where f32 is needed
      [](Module& m) { m.functions[0].code[1].dst = 4; },
      [](Module& m) { m.functions[0].code[1].imm = Inst::PackMem(0, 4, 2, 0); },
      [](Module& m) { m.functions[0].code[1].imm = Inst::PackMem(0, 4, 2, 4); },
      [](Module& m) { m.functions[0].code[1].line = 7; },
      [](Module& m) { m.functions[0].code[4] = {.op = Op::kBr, .imm = 5}; },
      [](Module& m) { m.functions[0].code[4] = {.op = Op::kBr, .imm = -1}; },
      [](Module& m) { m.functions[0].code[4] = {.op = Op::kCall, .imm = 3}; },
      [](Module& m) { m.functions[0].code.pop_back(); },
      [](Module& m) { m.functions[0].code[0].imm = kSpecialRegCount; },
      [](Module& m) { m.functions[0].registers[2].uniform = true; },  // tid.x is not uniform
      [](Module& m) { m.functions[0].code[0].op = static_cast<Op>(999); },
      [](Module& m) { m.functions[0].registers[0].type = static_cast<Type>(77); },
      [](Module& m) { m.functions[0].frame_bytes = 8; },
      [](Module& m) { m.functions[0].params[0].reg = 3; },
      [](Module& m) { m.functions[0].shared = {0}; },
      [](Module& m) { m.globals = {{.name = "g", .bytes = 1ull << 40}}; },
      [](Module& m) { m.globals = {{.name = "g", .bytes = 8, .relocations = {{.offset = 4}}}}; },
  };
  ASSERT_TRUE(Validate(Doubler()).ok());
  for (size_t n = 0; n < std::size(damages); ++n) {
    Module m = Doubler();
    damages[n](m);
    EXPECT_FALSE(Validate(m).ok()) << "damage " << n;
  }
}

// 16 MiB that claim 16 Mi functions, the first of which is broken. Functions are far larger in
// memory than the byte each has to have, so that allocating for the claim takes gigabytes.
TEST(IsaTest, CountThatPromisesMoreThanFollowsCostsNothing) {
  constexpr uint32_t kClaimed = 16u << 20;
  const std::vector<uint8_t> empty = Write(Module{});
  std::vector<uint8_t> body(empty.begin() + 16, empty.end() - 4);  // all but the count of functions
  body.resize(body.size() + 4 + kClaimed, 0xff);
  std::memcpy(body.data() + empty.size() - 16 - 4, &kClaimed, sizeof kClaimed);
  uint64_t checksum = 1469598103934665603ull;
  for (uint8_t b : body) checksum = (checksum ^ b) * 1099511628211ull;
  std::vector<uint8_t> bytes(empty.begin(), empty.begin() + 8);
  bytes.resize(16);
  std::memcpy(bytes.data() + 8, &checksum, sizeof checksum);
  bytes.insert(bytes.end(), body.begin(), body.end());
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const Result<Module> module = Read(bytes);
  getrusage(RUSAGE_SELF, &after);
  ASSERT_FALSE(module.ok());
  EXPECT_NE(module.error().message.find("truncated"), std::string::npos) << module.error().message;
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 256 << 10);  // KiB
}

}  // namespace
}  // namespace kuafu::isa
