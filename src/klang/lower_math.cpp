// SPDX-License-Identifier: Apache-2.0
// libdevice functions (__nv_*): exact ones become arithmetic, the rest Op::kMath with a function of
// math.def.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Constants.h>

#include "klang/lower.h"

namespace kuafu::klang {

using isa::MathFn;
using isa::Op;
using isa::Type;

namespace {

struct MathEntry {
  const char* name;  // libdevice base name, without __nv_ and the suffix f
  MathFn fn;
  unsigned operands;
};

constexpr MathEntry kMath[] = {{"sin", MathFn::kSin, 1},
                               {"cos", MathFn::kCos, 1},
                               {"tan", MathFn::kTan, 1},
                               {"asin", MathFn::kAsin, 1},
                               {"acos", MathFn::kAcos, 1},
                               {"atan", MathFn::kAtan, 1},
                               {"atan2", MathFn::kAtan2, 2},
                               {"sinh", MathFn::kSinh, 1},
                               {"cosh", MathFn::kCosh, 1},
                               {"tanh", MathFn::kTanh, 1},
                               {"asinh", MathFn::kAsinh, 1},
                               {"acosh", MathFn::kAcosh, 1},
                               {"atanh", MathFn::kAtanh, 1},
                               {"sinpi", MathFn::kSinpi, 1},
                               {"cospi", MathFn::kCospi, 1},
                               {"tanpi", MathFn::kTanpi, 1},
                               {"exp", MathFn::kExp, 1},
                               {"exp2", MathFn::kExp2, 1},
                               {"exp10", MathFn::kExp10, 1},
                               {"expm1", MathFn::kExpm1, 1},
                               {"log", MathFn::kLog, 1},
                               {"log2", MathFn::kLog2, 1},
                               {"log10", MathFn::kLog10, 1},
                               {"log1p", MathFn::kLog1p, 1},
                               {"logb", MathFn::kLogb, 1},
                               {"pow", MathFn::kPow, 2},
                               {"cbrt", MathFn::kCbrt, 1},
                               {"rcbrt", MathFn::kRcbrt, 1},
                               {"rsqrt", MathFn::kRsqrt, 1},
                               {"hypot", MathFn::kHypot, 2},
                               {"rhypot", MathFn::kRhypot, 2},
                               {"norm3d", MathFn::kNorm3d, 3},
                               {"fmod", MathFn::kFmod, 2},
                               {"remainder", MathFn::kRemainder, 2},
                               {"fdim", MathFn::kFdim, 2},
                               {"nextafter", MathFn::kNextafter, 2},
                               {"erf", MathFn::kErf, 1},
                               {"erfc", MathFn::kErfc, 1},
                               {"erfinv", MathFn::kErfinv, 1},
                               {"erfcinv", MathFn::kErfcinv, 1},
                               {"erfcx", MathFn::kErfcx, 1},
                               {"normcdf", MathFn::kNormcdf, 1},
                               {"normcdfinv", MathFn::kNormcdfinv, 1},
                               {"tgamma", MathFn::kTgamma, 1},
                               {"lgamma", MathFn::kLgamma, 1},
                               {"j0", MathFn::kJ0, 1},
                               {"j1", MathFn::kJ1, 1},
                               {"y0", MathFn::kY0, 1},
                               {"y1", MathFn::kY1, 1},
                               {"cyl_bessel_i0", MathFn::kCylBesselI0, 1},
                               {"cyl_bessel_i1", MathFn::kCylBesselI1, 1},
                               {"fast_sin", MathFn::kFastSin, 1},
                               {"fast_cos", MathFn::kFastCos, 1},
                               {"fast_tan", MathFn::kFastTan, 1},
                               {"fast_exp", MathFn::kFastExp, 1},
                               {"fast_exp10", MathFn::kFastExp10, 1},
                               {"fast_log", MathFn::kFastLog, 1},
                               {"fast_log2", MathFn::kFastLog2, 1},
                               {"fast_log10", MathFn::kFastLog10, 1},
                               {"fast_pow", MathFn::kFastPow, 2},
                               {"fast_fdivide", MathFn::kFastDiv, 2},
                               {"saturate", MathFn::kSaturate, 1},
                               {"frsqrt_rn", MathFn::kRsqrt, 1},
                               {"add_rz", MathFn::kAddRz, 2},
                               {"add_ru", MathFn::kAddRu, 2},
                               {"add_rd", MathFn::kAddRd, 2},
                               {"mul_rz", MathFn::kMulRz, 2},
                               {"mul_ru", MathFn::kMulRu, 2},
                               {"mul_rd", MathFn::kMulRd, 2},
                               {"div_rz", MathFn::kDivRz, 2},
                               {"div_ru", MathFn::kDivRu, 2},
                               {"div_rd", MathFn::kDivRd, 2},
                               {"fma_rz", MathFn::kFmaRz, 3},
                               {"fma_ru", MathFn::kFmaRu, 3},
                               {"fma_rd", MathFn::kFmaRd, 3},
                               {"sqrt_rz", MathFn::kSqrtRz, 1},
                               {"sqrt_ru", MathFn::kSqrtRu, 1},
                               {"sqrt_rd", MathFn::kSqrtRd, 1},
                               {"rcp_rz", MathFn::kRcpRz, 1},
                               {"rcp_ru", MathFn::kRcpRu, 1},
                               {"rcp_rd", MathFn::kRcpRd, 1}};

struct ExactEntry {
  const char* name;
  Op op;
  unsigned operands;
};

constexpr ExactEntry kExact[] = {{"fabs", Op::kFAbs, 1},       {"sqrt", Op::kFSqrt, 1},
                                 {"fma", Op::kFma, 3},         {"fmin", Op::kFMin, 2},
                                 {"fmax", Op::kFMax, 2},       {"copysign", Op::kFCopySign, 2},
                                 {"floor", Op::kFFloor, 1},    {"ceil", Op::kFCeil, 1},
                                 {"trunc", Op::kFTrunc, 1},    {"rint", Op::kFRint, 1},
                                 {"nearbyint", Op::kFRint, 1}, {"round", Op::kFRound, 1},
                                 {"add_rn", Op::kFAdd, 2},     {"sub_rn", Op::kFSub, 2},
                                 {"mul_rn", Op::kFMul, 2},     {"div_rn", Op::kFDiv, 2},
                                 {"fma_rn", Op::kFma, 3},      {"sqrt_rn", Op::kFSqrt, 1},
                                 {"popc", Op::kPopc, 1},       {"clz", Op::kClz, 1},
                                 {"brev", Op::kBitReverse, 1}, {"byte_perm", Op::kBytePermute, 3},
                                 {"mulhi", Op::kSMulHi, 2},    {"umulhi", Op::kUMulHi, 2},
                                 {"mul64hi", Op::kSMulHi, 2},  {"umul64hi", Op::kUMulHi, 2},
                                 {"abs", Op::kAbs, 1},         {"llabs", Op::kAbs, 1},
                                 {"min", Op::kSMin, 2},        {"max", Op::kSMax, 2},
                                 {"umin", Op::kUMin, 2},       {"umax", Op::kUMax, 2},
                                 {"llmin", Op::kSMin, 2},      {"llmax", Op::kSMax, 2},
                                 {"ullmin", Op::kUMin, 2},     {"ullmax", Op::kUMax, 2}};

// Names that fit an entry once the float or double marker is taken off: sinf, fadd_rz, daddd... ->
// sin, add_rz.
llvm::SmallVector<llvm::StringRef, 3> Candidates(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef, 3> names{name};
  if (name.ends_with("f")) names.push_back(name.drop_back());
  const bool rounded =
      name.size() > 4 && name[name.size() - 3] == '_' && name[name.size() - 2] == 'r';
  if (rounded && (name[0] == 'f' || name[0] == 'd')) names.push_back(name.drop_front());
  // fmaf_rn: the marker stands before the rounding mode.
  if (name.starts_with("fmaf_r")) {
    names.push_back(llvm::StringSwitch<llvm::StringRef>(name)
                        .Case("fmaf_rn", "fma_rn")
                        .Case("fmaf_rz", "fma_rz")
                        .Case("fmaf_ru", "fma_ru")
                        .Default("fma_rd"));
  }
  return names;
}

}  // namespace

bool FunctionLowering::MathCall(llvm::CallInst& i, llvm::StringRef name) {
  if (!name.consume_front("__nv_")) return false;
  for (llvm::StringRef candidate : Candidates(name)) {
    for (const ExactEntry& entry : kExact) {
      if (candidate != entry.name || i.arg_size() != entry.operands) continue;
      // popcll and the like return i32 from i64: not among the exact ones.
      if (i.getType() != i.getArgOperand(0)->getType()) continue;
      Elementwise(i, entry.op, entry.operands);
      return true;
    }
    for (const MathEntry& entry : kMath) {
      if (candidate != entry.name || i.arg_size() != entry.operands) continue;
      if (!i.getType()->isFloatTy() && !i.getType()->isDoubleTy()) return false;
      Elementwise(i, Op::kMath, entry.operands, {.imm = static_cast<int64_t>(entry.fn)});
      return true;
    }
  }
  for (llvm::StringRef candidate : Candidates(name)) {
    if (SpecialMath(i, candidate)) return true;
  }
  return false;
}

// Functions with integer or pointer operands, and conversions with a rounding mode.
bool FunctionLowering::SpecialMath(llvm::CallInst& i, llvm::StringRef base) {
  if (i.arg_size() == 0) return false;
  const uint32_t x = Reg(i.getArgOperand(0));
  const Type type = out_->registers[x].type;
  const auto math = [&](MathFn fn, std::initializer_list<uint32_t> operands) {
    return Emit(Op::kMath, type, operands, {.imm = static_cast<int64_t>(fn)});
  };
  const auto from_int = [&](uint32_t reg) {
    return Emit(Op::kSiToFp, type, {reg}, {.aux = static_cast<uint8_t>(out_->registers[reg].type)});
  };
  const auto to_int = [&](uint32_t reg) {
    return Emit(Op::kFpToSi, Type::kI32, {reg}, {.aux = static_cast<uint8_t>(type)});
  };
  const auto store = [&](unsigned argument, uint32_t reg) {
    const Type stored = out_->registers[reg].type;
    StoreScalars(Mode(i.getArgOperand(argument)), stored, {reg},
                 static_cast<uint64_t>(isa::TypeBytes(stored)), 0);
  };
  if (isa::IsFloat(type)) {
    if ((base == "ldexp" || base == "scalbn") && i.arg_size() == 2) {
      SetOne(&i, math(MathFn::kLdexp, {x, from_int(Reg(i.getArgOperand(1)))}));
    } else if (base == "powi" && i.arg_size() == 2) {
      SetOne(&i, math(MathFn::kPow, {x, from_int(Reg(i.getArgOperand(1)))}));
    } else if (base == "ilogb") {
      SetOne(&i, to_int(math(MathFn::kIlogb, {x})));
    } else if (base == "frexp" && i.arg_size() == 2) {
      store(1, to_int(math(MathFn::kFrexpExponent, {x})));
      SetOne(&i, math(MathFn::kFrexpMantissa, {x}));
    } else if (base == "modf" && i.arg_size() == 2) {
      store(1, Emit(Op::kFTrunc, type, {x}));
      SetOne(&i, math(MathFn::kModfFraction, {x}));
    } else if ((base == "sincos" || base == "fast_sincos" || base == "sincospi") &&
               i.arg_size() == 3) {
      const bool fast = base == "fast_sincos", pi = base == "sincospi";
      store(1, math(fast ? MathFn::kFastSin : pi ? MathFn::kSinpi : MathFn::kSin, {x}));
      store(2, math(fast ? MathFn::kFastCos : pi ? MathFn::kCospi : MathFn::kCos, {x}));
    } else if (base == "rcp_rn") {
      const uint64_t one = type == Type::kF64 ? 0x3ff0000000000000ull : 0x3f800000ull;
      SetOne(&i, Emit(Op::kFDiv, type, {Const(type, one), x}));
    } else if (base == "rnorm3d" && i.arg_size() == 3) {
      SetOne(&i, math(MathFn::kRcp, {math(MathFn::kNorm3d,
                                          {x, Reg(i.getArgOperand(1)), Reg(i.getArgOperand(2))})}));
    } else if (base.contains("2") && i.getType()->isIntegerTy() && base.size() > 3) {
      // float2int_rz, double2ull_rn: to an integer with a rounding mode.
      const llvm::StringRef target = base.split('2').second;
      const bool is_unsigned = target.starts_with("u");
      const Type to = ScalarType(i.getType());
      const llvm::StringRef mode = base.take_back(2);
      const InstOptions options{.aux = static_cast<uint8_t>(type),
                                .imm = mode == "rd"   ? 2
                                       : mode == "ru" ? 3
                                                      : 0};
      if (mode == "rz")
        SetOne(&i, Emit(is_unsigned ? Op::kFpToUi : Op::kFpToSi, to, {x},
                        {.aux = static_cast<uint8_t>(type)}));
      else if (mode == "rn" || mode == "ru" || mode == "rd")
        SetOne(&i, Emit(is_unsigned ? Op::kFpToUiRn : Op::kFpToSiRn, to, {x}, options));
      else
        return false;
    } else if (base == "double2float_rn") {
      SetOne(&i, Emit(Op::kFpTrunc, Type::kF32, {x}, {.aux = static_cast<uint8_t>(type)}));
    } else {
      return false;
    }
    return true;
  }
  // int2float_rn, ull2double_rn: round to nearest is the only mode that an instruction has.
  if (base.ends_with("_rn") && (base.contains("2float") || base.contains("2double"))) {
    SetOne(&i, Emit(base.starts_with("u") ? Op::kUiToFp : Op::kSiToFp, ScalarType(i.getType()), {x},
                    {.aux = static_cast<uint8_t>(type)}));
    return true;
  }
  if (base == "popcll" || base == "clzll") {
    SetOne(&i, Convert(Emit(base == "popcll" ? Op::kPopc : Op::kClz, type, {x}), Type::kI32,
                       Op::kTrunc));
    return true;
  }
  return false;
}

// llvm.is.fpclass: isnan, isinf, isfinite, isnormal ... as questions about the bits.
void FunctionLowering::FpClass(llvm::CallInst& i) {
  const auto mask =
      static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(i.getArgOperand(1))->getZExtValue());
  const uint32_t value = Reg(i.getArgOperand(0));
  const Type from = out_->registers[value].type;
  const int bytes = isa::TypeBytes(from);
  const Type type = bytes == 8 ? Type::kI64 : bytes == 4 ? Type::kI32 : Type::kI16;
  const int fraction = from == Type::kF64   ? 52
                       : from == Type::kF32 ? 23
                       : from == Type::kF16 ? 10
                                            : 7;
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1), least_normal = uint64_t{1} << fraction;
  const uint64_t infinity = sign - least_normal, quiet = infinity | least_normal >> 1;
  const uint32_t bits = Convert(value, type, Op::kBitcast);
  const uint32_t magnitude = Emit(Op::kAnd, type, {bits, Const(type, sign - 1)});
  const auto compare = [&](isa::IntPredicate p, uint32_t left, uint64_t right) {
    return Emit(Op::kICmp, Type::kI1, {left, Const(type, right)},
                {.aux = static_cast<uint8_t>(type), .imm = static_cast<int64_t>(p)});
  };
  // low <= x <= high, for a magnitude x.
  const auto between = [&](uint64_t low, uint64_t high) {
    const uint32_t above = Emit(Op::kSub, type, {magnitude, Const(type, low)});
    return compare(isa::IntPredicate::kUle, above, high - low);
  };
  uint32_t result = Const(Type::kI1, 0);
  const auto add = [&](uint32_t condition) {
    result = Emit(Op::kOr, Type::kI1, {result, condition});
  };
  // A class with a sign, asked for with either sign or with both.
  const auto add_signed = [&](uint32_t negative, uint32_t positive, uint64_t low, uint64_t high) {
    if ((mask & (negative | positive)) == 0) return;
    uint32_t inside = between(low, high);
    if ((mask & negative) == 0 || (mask & positive) == 0) {
      const auto p = (mask & negative) != 0 ? isa::IntPredicate::kSlt : isa::IntPredicate::kSge;
      inside = Emit(Op::kAnd, Type::kI1, {inside, compare(p, bits, 0)});
    }
    add(inside);
  };
  if ((mask & llvm::fcSNan) != 0) add(between(infinity + 1, quiet - 1));
  if ((mask & llvm::fcQNan) != 0) add(between(quiet, sign - 1));
  add_signed(llvm::fcNegInf, llvm::fcPosInf, infinity, infinity);
  add_signed(llvm::fcNegNormal, llvm::fcPosNormal, least_normal, infinity - 1);
  add_signed(llvm::fcNegSubnormal, llvm::fcPosSubnormal, 1, least_normal - 1);
  add_signed(llvm::fcNegZero, llvm::fcPosZero, 0, 0);
  SetOne(&i, result);
}

}  // namespace kuafu::klang
