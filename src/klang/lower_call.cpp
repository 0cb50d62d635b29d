// SPDX-License-Identifier: Apache-2.0
// Calls: LLVM intrinsics, NVVM intrinsics, the dialect headers' __kuafu_* functions, the device
// runtime. What nothing here knows is an error that names the function and the user's line.
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>

#include "klang/lower.h"

namespace kuafu::klang {

using isa::kNoReg;
using isa::Op;
using isa::Type;
using llvm::cast;
using llvm::dyn_cast;

// The bits of a provenance that tell shared and local memory from allocations.
constexpr uint32_t kStackMask = isa::kProvShared | isa::kProvLocal;

void FunctionLowering::Elementwise(llvm::CallInst& i, Op op, unsigned operands,
                                   InstOptions options) {
  const Type type = ScalarType(i.getType());
  llvm::SmallVector<Regs, 3> inputs;
  for (unsigned n = 0; n < operands; ++n) inputs.push_back(Get(i.getArgOperand(n)));
  Regs result;
  for (size_t n = 0; n < inputs[0].size(); ++n) {
    switch (operands) {
      case 1: result.push_back(Emit(op, type, {inputs[0][n]}, options)); break;
      case 2: result.push_back(Emit(op, type, {inputs[0][n], inputs[1][n]}, options)); break;
      default:
        result.push_back(Emit(op, type, {inputs[0][n], inputs[1][n], inputs[2][n]}, options));
        break;
    }
  }
  Set(&i, std::move(result));
}

void FunctionLowering::Call(llvm::CallInst& i) {
  if (i.isInlineAsm()) {
    const auto* text = cast<llvm::InlineAsm>(i.getCalledOperand());
    if (text->getAsmString().empty()) return;  // a compiler barrier
    Fail("inline PTX assembly is not supported: \"" + text->getAsmString().substr(0, 60) +
         "\"; use the intrinsic instead");
  } else if (auto* callee = dyn_cast<llvm::Function>(i.getCalledOperand()->stripPointerCasts())) {
    const llvm::StringRef name = callee->getName();
    if (!callee->isDeclaration()) return DirectCall(i, callee);
    if (callee->isIntrinsic() ? Intrinsic(i, *callee)
                              : (KuafuCall(i, name) || MathCall(i, name) || RuntimeCall(i, name))) {
      return;
    }
    if (name == "cudaLaunchDevice" || name == "cudaGetParameterBuffer" ||
        name.contains("PushCallConfiguration")) {
      Fail("launching a kernel from device code (dynamic parallelism) is not supported");
    } else {
      Fail("device code calls " + llvm::demangle(name.str()) +
           ", which has no definition and is not a known device function");
    }
  } else {
    return DirectCall(i, nullptr);
  }
  if (i.getType()->isVoidTy()) return;
  llvm::SmallVector<Leaf, 4> leaves;  // after an error the value still has to exist
  module_.Flatten(i.getType(), 0, &leaves);
  Regs regs;
  for (const Leaf& leaf : leaves) {
    regs.push_back(Const(leaf.type, 0));
    if (leaf.pointer) regs.push_back(Const(Type::kI32, 0));
  }
  Set(&i, std::move(regs));
}

// A local variable's provenance names it within its own function; a callee knows it as some place
// in the lane's stack.
uint32_t FunctionLowering::CalleeProv(uint32_t prov) {
  const uint32_t any = Const(Type::kI32, isa::kProvLocalAny);
  for (const isa::Constant& c : out_->constants) {
    if (c.reg == prov) return (c.bits & kStackMask) == isa::kProvLocal ? any : prov;
  }
  if (Uniform(prov)) return prov;  // a kernel's parameter or a device variable
  const uint32_t kind = Emit(Op::kAnd, Type::kI32, {prov, Const(Type::kI32, kStackMask)});
  const uint32_t local = Emit(Op::kICmp, Type::kI1, {kind, Const(Type::kI32, isa::kProvLocal)},
                              {.aux = static_cast<uint8_t>(Type::kI32),
                               .imm = static_cast<int64_t>(isa::IntPredicate::kEq)});
  return Emit(Op::kSelect, Type::kI32, {local, any, prov});
}

// callee == nullptr: through a pointer.
void FunctionLowering::DirectCall(llvm::CallInst& i, llvm::Function* callee) {
  std::vector<uint32_t> arguments;
  for (llvm::Value* value : i.args()) {
    Regs regs = Get(value);
    llvm::SmallVector<Leaf, 4> parts;
    module_.Flatten(value->getType(), 0, &parts);
    size_t at = 0;
    for (const Leaf& leaf : parts) {
      if (leaf.pointer && ++at < regs.size()) regs[at] = CalleeProv(regs[at]);
      ++at;
    }
    arguments.insert(arguments.end(), regs.begin(), regs.end());
  }
  uint32_t target = kNoReg;
  if (callee == nullptr) {
    target = Reg(i.getCalledOperand());
  } else if (module_.IsKernel(callee)) {
    return Fail("device code calls the kernel " + callee->getName().str() + " like a function");
  } else if (callee->arg_size() != i.arg_size()) {
    return Fail("a call of " + callee->getName().str() + " does not match its definition");
  }
  llvm::SmallVector<Leaf, 4> leaves;
  if (!i.getType()->isVoidTy()) module_.Flatten(i.getType(), 0, &leaves);
  Regs results;
  for (const Leaf& leaf : leaves) {
    results.push_back(NewReg(leaf.type));
    if (leaf.pointer) results.push_back(NewReg(Type::kI32));
  }
  const auto list = static_cast<uint32_t>(out_->operands.size());
  out_->operands.push_back(static_cast<uint32_t>(arguments.size()));
  out_->operands.insert(out_->operands.end(), arguments.begin(), arguments.end());
  out_->operands.push_back(static_cast<uint32_t>(results.size()));
  const uint32_t dst = results.empty() ? kNoReg : results[0];
  if (callee != nullptr) {
    EmitTo(dst, Op::kCall, Type::kI32, {},
           {.imm = module_.FunctionIndex(callee).value_or(0), .extra = list});
  } else {
    EmitTo(dst, Op::kCallIndirect, Type::kI64, {target}, {.extra = list});
  }
  if (!results.empty()) Set(&i, std::move(results));
}

bool FunctionLowering::Intrinsic(llvm::CallInst& i, llvm::Function& callee) {
  using llvm::Intrinsic::ID;
  static const std::map<ID, std::pair<Op, unsigned>> kSimple = {
      {llvm::Intrinsic::fma, {Op::kFma, 3}},
      {llvm::Intrinsic::fmuladd, {Op::kFma, 3}},
      {llvm::Intrinsic::minnum, {Op::kFMin, 2}},
      {llvm::Intrinsic::maxnum, {Op::kFMax, 2}},
      {llvm::Intrinsic::fabs, {Op::kFAbs, 1}},
      {llvm::Intrinsic::sqrt, {Op::kFSqrt, 1}},
      {llvm::Intrinsic::copysign, {Op::kFCopySign, 2}},
      {llvm::Intrinsic::floor, {Op::kFFloor, 1}},
      {llvm::Intrinsic::ceil, {Op::kFCeil, 1}},
      {llvm::Intrinsic::trunc, {Op::kFTrunc, 1}},
      {llvm::Intrinsic::rint, {Op::kFRint, 1}},
      {llvm::Intrinsic::nearbyint, {Op::kFRint, 1}},
      {llvm::Intrinsic::roundeven, {Op::kFRint, 1}},
      {llvm::Intrinsic::round, {Op::kFRound, 1}},
      {llvm::Intrinsic::ctpop, {Op::kPopc, 1}},
      {llvm::Intrinsic::ctlz, {Op::kClz, 1}},
      {llvm::Intrinsic::cttz, {Op::kCtz, 1}},
      {llvm::Intrinsic::bitreverse, {Op::kBitReverse, 1}},
      {llvm::Intrinsic::bswap, {Op::kByteSwap, 1}},
      {llvm::Intrinsic::fshl, {Op::kFunnelShl, 3}},
      {llvm::Intrinsic::fshr, {Op::kFunnelShr, 3}},
      {llvm::Intrinsic::smin, {Op::kSMin, 2}},
      {llvm::Intrinsic::smax, {Op::kSMax, 2}},
      {llvm::Intrinsic::umin, {Op::kUMin, 2}},
      {llvm::Intrinsic::umax, {Op::kUMax, 2}},
      {llvm::Intrinsic::abs, {Op::kAbs, 1}},
      {llvm::Intrinsic::sadd_sat, {Op::kSAddSat, 2}},
      {llvm::Intrinsic::uadd_sat, {Op::kUAddSat, 2}},
      {llvm::Intrinsic::ssub_sat, {Op::kSSubSat, 2}},
      {llvm::Intrinsic::usub_sat, {Op::kUSubSat, 2}}};
  const ID id = callee.getIntrinsicID();
  if (const auto simple = kSimple.find(id); simple != kSimple.end()) {
    Elementwise(i, simple->second.first, simple->second.second);
    return true;
  }
  switch (id) {
    case llvm::Intrinsic::dbg_declare:
    case llvm::Intrinsic::dbg_value:
    case llvm::Intrinsic::dbg_label:
    case llvm::Intrinsic::lifetime_start:
    case llvm::Intrinsic::lifetime_end:
    case llvm::Intrinsic::assume:
    case llvm::Intrinsic::experimental_noalias_scope_decl:
    case llvm::Intrinsic::donothing:
    case llvm::Intrinsic::prefetch: return true;
    case llvm::Intrinsic::memcpy:
    case llvm::Intrinsic::memcpy_inline:
    case llvm::Intrinsic::memmove: MemTransfer(cast<llvm::MemTransferInst>(i)); return true;
    case llvm::Intrinsic::memset:
    case llvm::Intrinsic::memset_inline: MemSet(cast<llvm::MemSetInst>(i)); return true;
    case llvm::Intrinsic::trap:
    case llvm::Intrinsic::debugtrap:
      EmitTo(kNoReg, Op::kTrap, Type::kI32, {}, {.imm = 0});
      return true;
    case llvm::Intrinsic::expect:
    case llvm::Intrinsic::launder_invariant_group:
    case llvm::Intrinsic::strip_invariant_group:
    case llvm::Intrinsic::annotation:
    case llvm::Intrinsic::ptr_annotation: Set(&i, Get(i.getArgOperand(0))); return true;
    case llvm::Intrinsic::var_annotation: return true;
    case llvm::Intrinsic::is_constant: SetOne(&i, Const(Type::kI1, 0)); return true;
    case llvm::Intrinsic::objectsize:
      SetOne(&i, Const(ScalarType(i.getType()), ~0ull));
      return true;
    case llvm::Intrinsic::canonicalize: Set(&i, Get(i.getArgOperand(0))); return true;
    case llvm::Intrinsic::is_fpclass: FpClass(i); return true;
    case llvm::Intrinsic::sadd_with_overflow:
    case llvm::Intrinsic::uadd_with_overflow:
    case llvm::Intrinsic::ssub_with_overflow:
    case llvm::Intrinsic::usub_with_overflow:
    case llvm::Intrinsic::smul_with_overflow:
    case llvm::Intrinsic::umul_with_overflow: {
      const uint32_t a = Reg(i.getArgOperand(0)), b = Reg(i.getArgOperand(1));
      const Type type = out_->registers[a].type;
      const bool add =
          id == llvm::Intrinsic::sadd_with_overflow || id == llvm::Intrinsic::uadd_with_overflow;
      const bool mul =
          id == llvm::Intrinsic::smul_with_overflow || id == llvm::Intrinsic::umul_with_overflow;
      const bool is_signed = id == llvm::Intrinsic::sadd_with_overflow ||
                             id == llvm::Intrinsic::ssub_with_overflow ||
                             id == llvm::Intrinsic::smul_with_overflow;
      const uint32_t result = Emit(add ? Op::kAdd : mul ? Op::kMul : Op::kSub, type, {a, b});
      const auto differs = [&](uint32_t left, uint32_t right) {
        return Emit(Op::kICmp, Type::kI1, {left, right},
                    {.aux = static_cast<uint8_t>(type),
                     .imm = static_cast<int64_t>(isa::IntPredicate::kNe)});
      };
      uint32_t overflow;
      if (mul) {
        const uint32_t high = Emit(is_signed ? Op::kSMulHi : Op::kUMulHi, type, {a, b});
        const auto top = static_cast<uint64_t>(8 * isa::TypeBytes(type) - 1);
        overflow = differs(
            high, is_signed ? Emit(Op::kAShr, type, {result, Const(type, top)}) : Const(type, 0));
      } else {
        overflow = differs(result, Emit(add ? (is_signed ? Op::kSAddSat : Op::kUAddSat)
                                            : (is_signed ? Op::kSSubSat : Op::kUSubSat),
                                        type, {a, b}));
      }
      Set(&i, {result, overflow});
      return true;
    }
    case llvm::Intrinsic::vector_reduce_add:
    case llvm::Intrinsic::vector_reduce_or:
    case llvm::Intrinsic::vector_reduce_and: {
      const Regs parts = Get(i.getArgOperand(0));
      const Op op = id == llvm::Intrinsic::vector_reduce_add  ? Op::kAdd
                    : id == llvm::Intrinsic::vector_reduce_or ? Op::kOr
                                                              : Op::kAnd;
      uint32_t total = parts[0];
      for (size_t n = 1; n < parts.size(); ++n)
        total = Emit(op, out_->registers[total].type, {total, parts[n]});
      SetOne(&i, total);
      return true;
    }
    default: break;
  }
  llvm::StringRef name = callee.getName();
  if (name.consume_front("llvm.nvvm.")) return NvvmIntrinsic(i, name);
  // Left as libm calls by the front end for some builtins: sin, cos, exp, log, pow, exp2, log2,
  // log10.
  if (name.consume_front("llvm.") && (i.getType()->isFloatTy() || i.getType()->isDoubleTy())) {
    return MathCall(
        i, ("__nv_" + name.split('.').first + (i.getType()->isFloatTy() ? "f" : "")).str());
  }
  return false;
}

bool FunctionLowering::NvvmIntrinsic(llvm::CallInst& i, llvm::StringRef name) {
  using isa::SpecialReg;
  if (name.consume_front("read.ptx.sreg.")) {
    static const std::map<llvm::StringRef, SpecialReg> kRegs = {
        {"tid.x", SpecialReg::kTidX},        {"tid.y", SpecialReg::kTidY},
        {"tid.z", SpecialReg::kTidZ},        {"ntid.x", SpecialReg::kNtidX},
        {"ntid.y", SpecialReg::kNtidY},      {"ntid.z", SpecialReg::kNtidZ},
        {"ctaid.x", SpecialReg::kCtaidX},    {"ctaid.y", SpecialReg::kCtaidY},
        {"ctaid.z", SpecialReg::kCtaidZ},    {"nctaid.x", SpecialReg::kNctaidX},
        {"nctaid.y", SpecialReg::kNctaidY},  {"nctaid.z", SpecialReg::kNctaidZ},
        {"laneid", SpecialReg::kLaneId},     {"warpid", SpecialReg::kWarpId},
        {"warpsize", SpecialReg::kWarpSize}, {"nwarpid", SpecialReg::kNumWarps},
        {"smid", SpecialReg::kSmId},         {"gridid", SpecialReg::kGridId}};
    const auto it = kRegs.find(name);
    if (it != kRegs.end()) {
      SetOne(&i, Special(it->second));
      return true;
    }
    if (name == "clock" || name == "clock64" || name == "globaltimer") {
      const uint32_t clock = Emit(Op::kClock, Type::kI64, {});
      SetOne(&i, Convert(clock, ScalarType(i.getType()), Op::kTrunc));
      return true;
    }
    return false;
  }
  const auto barrier = [&](int64_t id, isa::BarrierKind kind, uint32_t predicate,
                           uint32_t threads) {
    const uint32_t dst = kind == isa::BarrierKind::kSync ? kNoReg : NewReg(Type::kI32);
    EmitTo(dst, Op::kBarrier, Type::kI32, {predicate, threads},
           {.imm = id, .extra = static_cast<uint32_t>(kind)});
    if (dst != kNoReg) SetOne(&i, dst);
    return true;
  };
  const auto predicate = [&](unsigned n) {
    const uint32_t value = Reg(i.getArgOperand(n));
    const Type type = out_->registers[value].type;
    if (type == Type::kI1) return value;
    return Emit(
        Op::kICmp, Type::kI1, {value, Const(type, 0)},
        {.aux = static_cast<uint8_t>(type), .imm = static_cast<int64_t>(isa::IntPredicate::kNe)});
  };
  if (name == "barrier0") return barrier(0, isa::BarrierKind::kSync, kNoReg, kNoReg);
  if (name == "barrier0.popc") return barrier(0, isa::BarrierKind::kPopc, predicate(0), kNoReg);
  if (name == "barrier0.and") return barrier(0, isa::BarrierKind::kAnd, predicate(0), kNoReg);
  if (name == "barrier0.or") return barrier(0, isa::BarrierKind::kOr, predicate(0), kNoReg);
  if (name == "barrier" || name == "barrier.n" || name == "barrier.sync" || name == "bar.sync" ||
      name == "barrier.sync.cnt") {
    const auto* id = dyn_cast<llvm::ConstantInt>(i.getArgOperand(0));
    if (id == nullptr || id->getZExtValue() > 15) {
      Fail("a barrier number must be a constant from 0 to 15");
      return true;
    }
    return barrier(static_cast<int64_t>(id->getZExtValue()), isa::BarrierKind::kSync, kNoReg,
                   i.arg_size() > 1 ? Reg(i.getArgOperand(1)) : kNoReg);
  }
  if (name == "bar.warp.sync") {
    EmitTo(kNoReg, Op::kSyncWarp, Type::kI64,
           {Convert(Reg(i.getArgOperand(0)), Type::kI64, Op::kZExt)});
    return true;
  }
  if (name.starts_with("membar.")) {
    const isa::Scope scope = name.ends_with("cta")  ? isa::Scope::kBlock
                             : name.ends_with("gl") ? isa::Scope::kDevice
                                                    : isa::Scope::kSystem;
    EmitTo(kNoReg, Op::kFence, Type::kI32, {}, {.imm = static_cast<int64_t>(scope)});
    return true;
  }
  if (name.consume_front("isspacep.")) {
    const uint32_t prov = Get(i.getArgOperand(0))[1];
    const uint32_t kind = Emit(Op::kAnd, Type::kI32, {prov, Const(Type::kI32, kStackMask)});
    const auto is = [&](isa::IntPredicate p, uint32_t value, uint32_t other) {
      return Emit(Op::kICmp, Type::kI1, {value, Const(Type::kI32, other)},
                  {.aux = static_cast<uint8_t>(Type::kI32), .imm = static_cast<int64_t>(p)});
    };
    if (name == "shared")
      SetOne(&i, is(isa::IntPredicate::kEq, kind, isa::kProvShared));
    else if (name == "local")
      SetOne(&i, is(isa::IntPredicate::kEq, kind, isa::kProvLocal));
    else if (name == "global")
      SetOne(&i, Emit(Op::kAnd, Type::kI1,
                      {is(isa::IntPredicate::kEq, kind, 0), is(isa::IntPredicate::kNe, prov, 0)}));
    else
      SetOne(&i, Const(Type::kI1, 0));
    return true;
  }
  if (name.starts_with("ldg.global.") || name.starts_with("ldu.global.")) {
    AddressMode mode = Mode(i.getArgOperand(0));
    llvm::SmallVector<Leaf, 4> leaves;
    module_.Flatten(i.getType(), 0, &leaves);
    const auto* align = dyn_cast<llvm::ConstantInt>(i.getArgOperand(1));
    const auto count = static_cast<uint32_t>(leaves.size());
    const uint32_t first =
        LoadScalars(mode, leaves[0].type, count, align == nullptr ? 1 : align->getZExtValue(), 0);
    Regs result;
    for (uint32_t n = 0; n < count; ++n) result.push_back(first + n);
    if (leaves[0].pointer) result.push_back(Emit(Op::kProvOf, Type::kI32, {first}));
    Set(&i, std::move(result));
    return true;
  }
  static const std::map<llvm::StringRef, std::pair<Op, unsigned>> kSimple = {
      {"mulhi.i", {Op::kSMulHi, 2}},   {"mulhi.ui", {Op::kUMulHi, 2}},
      {"mulhi.ll", {Op::kSMulHi, 2}},  {"mulhi.ull", {Op::kUMulHi, 2}},
      {"prmt", {Op::kBytePermute, 3}}, {"fmin.f", {Op::kFMin, 2}},
      {"fmax.f", {Op::kFMax, 2}},      {"fmin.d", {Op::kFMin, 2}},
      {"fmax.d", {Op::kFMax, 2}},      {"fabs.f", {Op::kFAbs, 1}},
      {"fabs.d", {Op::kFAbs, 1}},      {"sqrt.f", {Op::kFSqrt, 1}},
      {"sqrt.rn.f", {Op::kFSqrt, 1}},  {"sqrt.rn.d", {Op::kFSqrt, 1}},
      {"fma.rn.f", {Op::kFma, 3}},     {"fma.rn.d", {Op::kFma, 3}},
      {"add.rn.f", {Op::kFAdd, 2}},    {"add.rn.d", {Op::kFAdd, 2}},
      {"mul.rn.f", {Op::kFMul, 2}},    {"mul.rn.d", {Op::kFMul, 2}},
      {"div.rn.f", {Op::kFDiv, 2}},    {"div.rn.d", {Op::kFDiv, 2}}};
  if (const auto it = kSimple.find(name); it != kSimple.end()) {
    Elementwise(i, it->second.first, it->second.second);
    return true;
  }
  if (name == "exit") {
    Fail("ending a thread with exit() is not supported; return from the kernel instead");
    return true;
  }
  return false;
}

// __kuafu_atomic_<op>_<type>_<cta|gpu|sys>: relaxed, old value returned.
bool FunctionLowering::KuafuAtomic(llvm::CallInst& i, llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  name.split(parts, '_');
  if (parts.size() != 3) return false;
  const isa::Scope scope = parts[2] == "cta"   ? isa::Scope::kBlock
                           : parts[2] == "gpu" ? isa::Scope::kDevice
                                               : isa::Scope::kSystem;
  const bool real = parts[1].starts_with("f") || parts[1].starts_with("b");
  const bool is_signed = parts[1].starts_with("i");
  const AddressMode mode = Mode(i.getArgOperand(0));
  const uint32_t address = Materialize(mode);
  const uint32_t value = Reg(i.getArgOperand(1));
  const Type type = out_->registers[value].type;
  if (parts[0] == "cas") {
    const uint32_t old = NewReg(type);
    EmitTo(old, Op::kAtomicCas, type, {address, value, mode.prov, Reg(i.getArgOperand(2))},
           {.extra = isa::AtomicExtra(isa::AtomicOp::kXchg, scope, false, false)});
    SetOne(&i, old);
    return true;
  }
  isa::AtomicOp op;
  if (parts[0] == "add")
    op = real ? isa::AtomicOp::kFAdd : isa::AtomicOp::kAdd;
  else if (parts[0] == "sub" && !real)
    op = isa::AtomicOp::kSub;
  else if (parts[0] == "min")
    op = real ? isa::AtomicOp::kFMin : is_signed ? isa::AtomicOp::kSMin : isa::AtomicOp::kUMin;
  else if (parts[0] == "max")
    op = real ? isa::AtomicOp::kFMax : is_signed ? isa::AtomicOp::kSMax : isa::AtomicOp::kUMax;
  else if (parts[0] == "and")
    op = isa::AtomicOp::kAnd;
  else if (parts[0] == "or")
    op = isa::AtomicOp::kOr;
  else if (parts[0] == "xor")
    op = isa::AtomicOp::kXor;
  else if (parts[0] == "exch")
    op = isa::AtomicOp::kXchg;
  else if (parts[0] == "inc")
    op = isa::AtomicOp::kInc;
  else if (parts[0] == "dec")
    op = isa::AtomicOp::kDec;
  else
    return false;
  const uint32_t old = i.use_empty() ? kNoReg : NewReg(type);
  EmitTo(old, Op::kAtomicRmw, type, {address, kNoReg, mode.prov, value},
         {.extra = isa::AtomicExtra(op, scope, false, false)});
  if (old != kNoReg) SetOne(&i, old);
  return true;
}

bool FunctionLowering::KuafuCall(llvm::CallInst& i, llvm::StringRef name) {
  if (!name.consume_front("__kuafu_")) return false;
  if (name.consume_front("atomic_")) return KuafuAtomic(i, name);
  if (name == "keep") return true;  // see passes.cpp
  const auto arg = [&](unsigned n) { return Reg(i.getArgOperand(n)); };
  const auto nonzero = [&](uint32_t value) {
    const Type type = out_->registers[value].type;
    if (type == Type::kI1) return value;
    return Emit(
        Op::kICmp, Type::kI1, {value, Const(type, 0)},
        {.aux = static_cast<uint8_t>(type), .imm = static_cast<int64_t>(isa::IntPredicate::kNe)});
  };
  // <operation>_tile: the first operand is the size of a cooperative group's tile, not a mask.
  const std::string stem = name.ends_with("_tile") ? name.drop_back(5).str() : name.str();
  const uint8_t tile = stem.size() != name.size() ? isa::kMaskTile : 0;
  const auto lanes = [&] { return Convert(arg(0), Type::kI64, Op::kZExt); };
  // Results of warp operations are never uniform, so Emit gives them per-lane registers.
  static const std::map<llvm::StringRef, isa::ShflKind> kShuffles = {
      {"shfl_idx_i32", isa::ShflKind::kIdx},
      {"shfl_up_i32", isa::ShflKind::kUp},
      {"shfl_down_i32", isa::ShflKind::kDown},
      {"shfl_xor_i32", isa::ShflKind::kXor}};
  if (const auto it = kShuffles.find(stem); it != kShuffles.end()) {
    SetOne(&i, Emit(Op::kShfl, Type::kI32, {lanes(), arg(1), arg(2), arg(3)},
                    {.aux = tile, .extra = static_cast<uint32_t>(it->second)}));
    return true;
  }
  static const std::map<llvm::StringRef, isa::VoteKind> kVotes = {
      {"vote_any", isa::VoteKind::kAny},
      {"vote_all", isa::VoteKind::kAll},
      {"vote_uni", isa::VoteKind::kUni}};
  if (const auto it = kVotes.find(stem); it != kVotes.end()) {
    const uint32_t vote = Emit(Op::kVote, Type::kI1, {lanes(), nonzero(arg(1))},
                               {.aux = tile, .extra = static_cast<uint32_t>(it->second)});
    SetOne(&i, Convert(vote, ScalarType(i.getType()), Op::kZExt));
    return true;
  }
  static const std::map<llvm::StringRef, isa::ReduxKind> kReductions = {
      {"reduce_add_i32", isa::ReduxKind::kAdd},  {"reduce_add_u32", isa::ReduxKind::kAdd},
      {"reduce_min_i32", isa::ReduxKind::kSMin}, {"reduce_max_i32", isa::ReduxKind::kSMax},
      {"reduce_min_u32", isa::ReduxKind::kUMin}, {"reduce_max_u32", isa::ReduxKind::kUMax},
      {"reduce_and_u32", isa::ReduxKind::kAnd},  {"reduce_or_u32", isa::ReduxKind::kOr},
      {"reduce_xor_u32", isa::ReduxKind::kXor}};
  if (const auto it = kReductions.find(name); it != kReductions.end()) {
    SetOne(&i, Emit(Op::kRedux, Type::kI32, {arg(0), arg(1)},
                    {.extra = static_cast<uint32_t>(it->second)}));
    return true;
  }
  if (stem == "ballot" || name == "ballot_hi") {
    SetOne(&i, Emit(Op::kBallot, Type::kI64, {lanes(), nonzero(arg(1))},
                    {.aux = tile, .imm = name == "ballot_hi"}));
  } else if (name == "activemask" || name == "activemask_hi") {
    SetOne(&i, Emit(Op::kActiveMask, Type::kI64, {}, {.imm = name == "activemask_hi"}));
  } else if (name.starts_with("match_any_") || name.starts_with("match_all_")) {
    const uint32_t value = arg(1);
    const bool all = name.starts_with("match_all_");
    const uint32_t mask = Emit(all ? Op::kMatchAll : Op::kMatchAny, Type::kI64, {arg(0), value},
                               {.aux = static_cast<uint8_t>(out_->registers[value].type)});
    SetOne(&i, mask);
    if (all)
      StoreScalars(Mode(i.getArgOperand(2)), Type::kI32,
                   {Convert(nonzero(mask), Type::kI32, Op::kZExt)}, 4, 0);
  } else if (stem == "syncwarp") {
    EmitTo(kNoReg, Op::kSyncWarp, Type::kI64, {lanes()}, {.aux = tile});
  } else if (name == "trap") {
    EmitTo(kNoReg, Op::kTrap, Type::kI32, {}, {.imm = 0});
  } else if (name == "clock64") {
    SetOne(&i, Emit(Op::kClock, Type::kI64, {}));
  } else if (name == "nanosleep") {
    EmitTo(kNoReg, Op::kNanosleep, Type::kI32, {});
  } else if (name == "grid_sync") {
    EmitTo(kNoReg, Op::kGridSync, Type::kI32, {});
  } else if (name == "byte_perm") {
    SetOne(&i, Emit(Op::kBytePermute, Type::kI32, {arg(0), arg(1), arg(2)}));
  } else if (name == "dynamic_shared_bytes" || name == "dynamic_smem_size") {
    SetOne(&i, Special(isa::SpecialReg::kDynamicSharedBytes));
  } else {
    return false;
  }
  return true;
}

// What a CUDA device runtime offers under its own name.
bool FunctionLowering::RuntimeCall(llvm::CallInst& i, llvm::StringRef name) {
  if (name == "vprintf" && i.arg_size() == 2) {
    const Regs format = Get(i.getArgOperand(0)), arguments = Get(i.getArgOperand(1));
    SetOne(&i, Emit(Op::kPrintf, Type::kI32, {format[0], format[1], arguments[0], arguments[1]}));
  } else if (name == "__assertfail" && i.arg_size() == 5) {
    const uint32_t message = Reg(i.getArgOperand(0)), file = Reg(i.getArgOperand(1)),
                   line = Reg(i.getArgOperand(2));
    EmitTo(kNoReg, Op::kAssertFail, Type::kI64, {message, file, Reg(i.getArgOperand(3))},
           {.extra = line});
  } else if (name == "malloc" || name == "_Znwm" || name == "_Znam") {
    // operator new does not throw in device code: null when the heap is full, as malloc.
    const uint32_t address = Emit(Op::kMalloc, Type::kI64, {Reg(i.getArgOperand(0))});
    Set(&i, {address, Emit(Op::kProvOf, Type::kI32, {address})});
  } else if (name == "free" || name == "_ZdlPv" || name == "_ZdaPv" || name == "_ZdlPvm" ||
             name == "_ZdaPvm") {
    EmitTo(kNoReg, Op::kFree, Type::kI64, {Reg(i.getArgOperand(0))});
  } else if (name == "__cxa_pure_virtual") {
    EmitTo(kNoReg, Op::kTrap, Type::kI32, {}, {.imm = 1});
  } else {
    return false;
  }
  return true;
}

}  // namespace kuafu::klang
