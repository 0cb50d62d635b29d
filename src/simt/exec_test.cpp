// SPDX-License-Identifier: Apache-2.0
// Lane loops against known values: edge cases of integers, conversions, half precision, maths.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "simt/exec.h"

namespace kuafu::simt {
namespace {

using isa::Inst;
using isa::MathFn;
using isa::Op;
using isa::Type;

uint64_t Eval(Op op, Type type, uint64_t a, uint64_t b = 0, uint64_t c = 0, int64_t imm = 0,
              Type source = Type::kI32) {
  Inst inst;
  inst.op = op;
  inst.type = type;
  inst.imm = imm;
  inst.aux = static_cast<uint8_t>(source);
  for (auto select : {SelectInt, SelectFloat, SelectConvert, SelectMath}) {
    if (LaneFn fn = select(inst, 0); fn != nullptr) {
      uint64_t d = 0;
      fn(&d, &a, &b, &c, 1, op == Op::kMath ? 0 : imm);
      return d;
    }
  }
  ADD_FAILURE() << "no function";
  return 0;
}
uint32_t B(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  return u;
}
float F(uint64_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
uint64_t B64(double f) {
  uint64_t u;
  std::memcpy(&u, &f, 8);
  return u;
}
double F64(uint64_t bits) {
  double f;
  std::memcpy(&f, &bits, 8);
  return f;
}

TEST(Exec, DivisionNeverTraps) {
  EXPECT_EQ(Eval(Op::kSDiv, Type::kI32, 5, 0), 0xffffffffu);
  EXPECT_EQ(Eval(Op::kSDiv, Type::kI32, 0x80000000u, 0xffffffffu), 0x80000000u);
  EXPECT_EQ(Eval(Op::kSRem, Type::kI32, 0x80000000u, 0xffffffffu), 0u);
  EXPECT_EQ(Eval(Op::kUDiv, Type::kI64, 5, 0), ~0ull);
  EXPECT_EQ(Eval(Op::kSDiv, Type::kI32, uint32_t(-7), 2), uint32_t(-3));
  EXPECT_EQ(Eval(Op::kSRem, Type::kI8, uint8_t(-7), 2), uint8_t(-1));
}

TEST(Exec, ShiftsByTheWidthOrMore) {
  EXPECT_EQ(Eval(Op::kShl, Type::kI32, 1, 32), 0u);
  EXPECT_EQ(Eval(Op::kShl, Type::kI32, 1, 31), 0x80000000u);
  EXPECT_EQ(Eval(Op::kLShr, Type::kI64, ~0ull, 64), 0u);
  EXPECT_EQ(Eval(Op::kAShr, Type::kI32, 0x80000000u, 40), 0xffffffffu);
  EXPECT_EQ(Eval(Op::kAShr, Type::kI8, 0x80, 1), 0xc0u);
}

TEST(Exec, BitOperations) {
  EXPECT_EQ(Eval(Op::kClz, Type::kI32, 0), 32u);
  EXPECT_EQ(Eval(Op::kClz, Type::kI16, 1), 15u);
  EXPECT_EQ(Eval(Op::kCtz, Type::kI64, 0), 64u);
  EXPECT_EQ(Eval(Op::kBitReverse, Type::kI32, 1), 0x80000000u);
  EXPECT_EQ(Eval(Op::kByteSwap, Type::kI32, 0x01020304), 0x04030201u);
  EXPECT_EQ(Eval(Op::kFunnelShl, Type::kI32, 0x80000001u, 0xc0000000u, 33), 0x00000003u);
  EXPECT_EQ(Eval(Op::kFunnelShr, Type::kI32, 1, 0x10, 4), 0x10000001u);
  EXPECT_EQ(Eval(Op::kBytePermute, Type::kI32, 0x03020100, 0x07060504, 0x7531), 0x07050301u);
  EXPECT_EQ(Eval(Op::kBytePermute, Type::kI32, 0x80, 0, 0x8888), 0xffffffffu);
  EXPECT_EQ(Eval(Op::kUMulHi, Type::kI64, ~0ull, ~0ull), ~0ull - 1);
  EXPECT_EQ(Eval(Op::kSMulHi, Type::kI32, uint32_t(-2), 3), 0xffffffffu);
  EXPECT_EQ(Eval(Op::kSAddSat, Type::kI32, 0x7fffffff, 1), 0x7fffffffu);
}

TEST(Exec, MinMaxIgnoreNaNAndOrderZeros) {
  uint32_t nan = B(NAN);
  EXPECT_EQ(Eval(Op::kFMin, Type::kF32, nan, B(1)), B(1));
  EXPECT_EQ(Eval(Op::kFMax, Type::kF32, B(1), nan), B(1));
  EXPECT_EQ(Eval(Op::kFMin, Type::kF32, B(0.0f), B(-0.0f)), B(-0.0f));
  EXPECT_EQ(Eval(Op::kFMax, Type::kF32, B(-0.0f), B(0.0f)), B(0.0f));
}

TEST(Exec, FloatToIntSaturates) {
  auto to32 = [](float f) { return Eval(Op::kFpToSi, Type::kI32, B(f), 0, 0, 0, Type::kF32); };
  EXPECT_EQ(to32(NAN), 0u);
  EXPECT_EQ(to32(1e20f), 0x7fffffffu);
  EXPECT_EQ(to32(-1e20f), 0x80000000u);
  EXPECT_EQ(to32(-2.9f), uint32_t(-2));
  EXPECT_EQ(to32(2147483520.0f), 2147483520u);
  EXPECT_EQ(Eval(Op::kFpToUi, Type::kI64, B64(1e30), 0, 0, 0, Type::kF64), ~0ull);
  EXPECT_EQ(Eval(Op::kFpToUi, Type::kI32, B(-1), 0, 0, 0, Type::kF32), 0u);
  EXPECT_EQ(Eval(Op::kFpToSiRn, Type::kI32, B(2.5f), 0, 0, 0, Type::kF32), 2u);
  EXPECT_EQ(Eval(Op::kFpToSiRn, Type::kI32, B(2.5f), 0, 0, 3, Type::kF32), 3u);
  EXPECT_EQ(Eval(Op::kFpToSiRn, Type::kI32, B(-2.5f), 0, 0, 2, Type::kF32), uint32_t(-3));
}

TEST(Exec, HalfRoundsOnce) {
  // 2049 is between 2048 and 2050 in f16: to even.
  EXPECT_EQ(Eval(Op::kSiToFp, Type::kF16, 2049, 0, 0, 0, Type::kI32), 0x6800u);
  EXPECT_EQ(Eval(Op::kFpTrunc, Type::kF16, B(65520.0f), 0, 0, 0, Type::kF32), 0x7c00u);
  EXPECT_EQ(Eval(Op::kFpTrunc, Type::kBf16, B(1.00390625f), 0, 0, 0, Type::kF32), 0x3f80u);
  // Just above the tie: rounding through f32 first would lose it.
  EXPECT_EQ(Eval(Op::kFpTrunc, Type::kBf16, B64(1.00390625 + 1e-12), 0, 0, 0, Type::kF64), 0x3f81u);
  EXPECT_EQ(Eval(Op::kFpTrunc, Type::kF16, B64(1.00048828125 + 1e-12), 0, 0, 0, Type::kF64),
            0x3c01u);
  EXPECT_EQ(Eval(Op::kFAdd, Type::kF16, 0x3c00, 0x3c00), 0x4000u);
  EXPECT_EQ(Eval(Op::kFpExt, Type::kF32, 0xc000, 0, 0, 0, Type::kF16), B(-2.0f));
}

TEST(Exec, OneBitConversions) {
  EXPECT_EQ(Eval(Op::kSExt, Type::kI32, 1, 0, 0, 0, Type::kI1), 0xffffffffu);
  EXPECT_EQ(Eval(Op::kZExt, Type::kI64, 1, 0, 0, 0, Type::kI1), 1u);
  EXPECT_EQ(Eval(Op::kTrunc, Type::kI1, 0xfe, 0, 0, 0, Type::kI32), 0u);
  EXPECT_EQ(Eval(Op::kSExt, Type::kI64, 0x80000000u, 0, 0, 0, Type::kI32), 0xffffffff80000000ull);
}

TEST(Exec, MathValues) {
  auto m = [](MathFn fn, double a, double b = 0, double c = 0) {
    return F64(Eval(Op::kMath, Type::kF64, B64(a), B64(b), B64(c), static_cast<int64_t>(fn)));
  };
  EXPECT_NEAR(m(MathFn::kErfinv, 0.5), 0.4769362762044699, 1e-15);
  for (double y : {-0.999999, -0.3, 1e-10, 0.5, 0.51, 0.99})
    EXPECT_NEAR(std::erf(m(MathFn::kErfinv, y)), y, 2e-16);
  for (double y : {1e-300, 1e-30, 1e-5, 0.4, 1.7})
    EXPECT_NEAR(std::erfc(m(MathFn::kErfcinv, y)) / y, 1, 3e-13);
  EXPECT_NEAR(m(MathFn::kNormcdfinv, 0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(m(MathFn::kNormcdf, 1.0), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(m(MathFn::kErfcx, 24.999), m(MathFn::kErfcx, 25.001) * 25.001 / 24.999, 1e-7);
  EXPECT_EQ(m(MathFn::kSinpi, 1.0), 0.0);
  EXPECT_EQ(m(MathFn::kSinpi, 0.5), 1.0);
  EXPECT_EQ(m(MathFn::kCospi, 0.5), 0.0);
  EXPECT_EQ(m(MathFn::kCospi, 1.0), -1.0);
  EXPECT_NEAR(m(MathFn::kCylBesselI0, 1.0), 1.2660658777520084, 1e-12);
  EXPECT_NEAR(m(MathFn::kRcbrt, 8.0), 0.5, 1e-15);
  EXPECT_EQ(m(MathFn::kModfFraction, -2.25), -0.25);
  EXPECT_EQ(m(MathFn::kFrexpExponent, 8.0), 4.0);
  EXPECT_EQ(m(MathFn::kLdexp, 3.0, 4.0), 48.0);
  EXPECT_EQ(m(MathFn::kSaturate, NAN), 0.0);
}

TEST(Exec, DirectedRounding) {
  auto m = [](MathFn fn, float a, float b) {
    return F(Eval(Op::kMath, Type::kF32, B(a), B(b), 0, static_cast<int64_t>(fn)));
  };
  EXPECT_EQ(m(MathFn::kDivRd, 1, 3), 0x1.555554p-2f);
  EXPECT_EQ(m(MathFn::kDivRu, 1, 3), 0x1.555556p-2f);
  EXPECT_EQ(m(MathFn::kAddRz, -1, -1e-20f), -1.0f);
  EXPECT_EQ(m(MathFn::kAddRd, -1, -1e-20f), std::nextafter(-1.0f, -2.0f));
  EXPECT_EQ(m(MathFn::kAddRu, 1, 1e-20f), std::nextafter(1.0f, 2.0f));
}

TEST(Exec, UniformPatternsAgree) {
  int32_t a[5] = {1, -2, 3, -4, 5}, b[5] = {7, 7, 7, 7, 7}, plain[5], uniform[5];
  for (Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kSMin, Op::kSDiv, Op::kShl, Op::kXor}) {
    Inst inst;
    inst.op = op;
    inst.type = Type::kI32;
    SelectInt(inst, 0)(plain, a, b, nullptr, 5, 0);
    SelectInt(inst, 2)(uniform, a, b, nullptr, 5, 0);
    EXPECT_EQ(std::memcmp(plain, uniform, sizeof plain), 0);
    SelectInt(inst, 0)(plain, b, a, nullptr, 5, 0);
    SelectInt(inst, 1)(uniform, b, a, nullptr, 5, 0);
    EXPECT_EQ(std::memcmp(plain, uniform, sizeof plain), 0);
  }
}

TEST(Exec, OverflowNamesTheFirstActiveLane) {
  Inst inst;
  inst.op = Op::kMul;
  inst.type = Type::kI32;
  inst.extra = isa::kCheckOverflow;
  OverflowFn fn = SelectOverflow(inst);
  int32_t a[4] = {1, 1 << 20, 5, 1 << 20}, b[4] = {1, 1 << 20, 5, 1 << 12};
  int lane = -1;
  EXPECT_TRUE(fn(a, b, nullptr, 0, nullptr, 4, &lane));
  EXPECT_EQ(lane, 1);
  uint8_t mask[4] = {1, 0, 1, 1};
  EXPECT_TRUE(fn(a, b, nullptr, 0, mask, 4, &lane));
  EXPECT_EQ(lane, 3);
  mask[3] = 0;
  EXPECT_FALSE(fn(a, b, nullptr, 0, mask, 4, &lane));
}

}  // namespace
}  // namespace kuafu::simt
