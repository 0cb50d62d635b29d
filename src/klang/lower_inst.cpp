// SPDX-License-Identifier: Apache-2.0
// Arithmetic, conversions, vectors, aggregates and control flow. Vector operations are taken apart
// here.
#include <llvm/IR/Constants.h>

#include "klang/lower.h"

namespace kuafu::klang {

using isa::kNoReg;
using isa::Op;
using isa::Type;
using llvm::cast;
using llvm::dyn_cast;

void FunctionLowering::Instruction(llvm::Instruction& i) {
  llvm::SmallVector<Leaf, 8> leaves;
  if (!i.getType()->isVoidTy() && !module_.Flatten(i.getType(), 0, &leaves)) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    i.getType()->print(stream);
    Fail("a value of type " + text + " is not supported; split it into 64-bit or narrower parts");
    return;
  }
  if (auto* op = dyn_cast<llvm::BinaryOperator>(&i)) return Binary(*op);
  if (auto* conversion = dyn_cast<llvm::CastInst>(&i)) return Cast(*conversion);
  if (auto* compare = dyn_cast<llvm::CmpInst>(&i)) return Compare(*compare);
  if (i.isTerminator()) return Terminator(i);
  switch (i.getOpcode()) {
    case llvm::Instruction::Alloca: return Alloca(cast<llvm::AllocaInst>(i));
    case llvm::Instruction::GetElementPtr: return Gep(cast<llvm::GetElementPtrInst>(i));
    case llvm::Instruction::Load: return Load(cast<llvm::LoadInst>(i));
    case llvm::Instruction::Store: return Store(cast<llvm::StoreInst>(i));
    case llvm::Instruction::AtomicRMW: return AtomicRmw(cast<llvm::AtomicRMWInst>(i));
    case llvm::Instruction::AtomicCmpXchg: return AtomicCas(cast<llvm::AtomicCmpXchgInst>(i));
    case llvm::Instruction::Call: return Call(cast<llvm::CallInst>(i));
    case llvm::Instruction::Freeze: return Set(&i, Get(i.getOperand(0)));
    case llvm::Instruction::Fence: {
      const auto& fence = cast<llvm::FenceInst>(i);
      if (fence.getSyncScopeID() == llvm::SyncScope::SingleThread) return;
      EmitTo(kNoReg, Op::kFence, Type::kI32, {},
             {.imm = static_cast<int64_t>(isa::Scope::kSystem)});
      return;
    }
    case llvm::Instruction::FNeg: {
      Regs result;
      for (uint32_t reg : Get(i.getOperand(0)))
        result.push_back(Emit(Op::kFNeg, ScalarType(i.getType()), {reg}));
      return Set(&i, std::move(result));
    }
    case llvm::Instruction::Select:
    case llvm::Instruction::ExtractElement:
    case llvm::Instruction::InsertElement:
    case llvm::Instruction::ShuffleVector: return VectorInstruction(i);
    case llvm::Instruction::ExtractValue:
    case llvm::Instruction::InsertValue: return Aggregate(i);
    default:
      Fail(std::string("the operation ") + i.getOpcodeName() + " is not supported in device code");
  }
}

void FunctionLowering::Binary(llvm::BinaryOperator& i) {
  static constexpr std::pair<unsigned, Op> kOps[] = {
      {llvm::Instruction::Add, Op::kAdd},   {llvm::Instruction::Sub, Op::kSub},
      {llvm::Instruction::Mul, Op::kMul},   {llvm::Instruction::UDiv, Op::kUDiv},
      {llvm::Instruction::SDiv, Op::kSDiv}, {llvm::Instruction::URem, Op::kURem},
      {llvm::Instruction::SRem, Op::kSRem}, {llvm::Instruction::And, Op::kAnd},
      {llvm::Instruction::Or, Op::kOr},     {llvm::Instruction::Xor, Op::kXor},
      {llvm::Instruction::Shl, Op::kShl},   {llvm::Instruction::LShr, Op::kLShr},
      {llvm::Instruction::AShr, Op::kAShr}, {llvm::Instruction::FAdd, Op::kFAdd},
      {llvm::Instruction::FSub, Op::kFSub}, {llvm::Instruction::FMul, Op::kFMul},
      {llvm::Instruction::FDiv, Op::kFDiv}, {llvm::Instruction::FRem, Op::kFRem}};
  Op op = Op::kTrap;
  for (const auto& [opcode, mapped] : kOps) {
    if (opcode == i.getOpcode()) op = mapped;
  }
  const Regs a = Get(i.getOperand(0)), b = Get(i.getOperand(1));
  const Type type = ScalarType(i.getType());
  // Arithmetic on i1 is arithmetic modulo two.
  if (type == Type::kI1 && (op == Op::kAdd || op == Op::kSub)) op = Op::kXor;
  if (type == Type::kI1 && op == Op::kMul) op = Op::kAnd;
  const uint32_t extra = checked_.contains(&i) ? isa::kCheckOverflow : 0;
  Regs result;
  for (size_t n = 0; n < a.size(); ++n)
    result.push_back(Emit(op, type, {a[n], b[n]}, {.extra = extra}));
  Set(&i, std::move(result));
}

void FunctionLowering::Cast(llvm::CastInst& i) {
  llvm::Value* operand = i.getOperand(0);
  const Regs source = Get(operand);
  const Type from = ScalarType(operand->getType()), to = ScalarType(i.getType());
  Op op = Op::kTrap;
  switch (i.getOpcode()) {
    case llvm::Instruction::Trunc: op = Op::kTrunc; break;
    case llvm::Instruction::ZExt: op = Op::kZExt; break;
    case llvm::Instruction::SExt: op = Op::kSExt; break;
    case llvm::Instruction::FPTrunc: op = Op::kFpTrunc; break;
    case llvm::Instruction::FPExt: op = Op::kFpExt; break;
    case llvm::Instruction::FPToSI: op = Op::kFpToSi; break;
    case llvm::Instruction::FPToUI: op = Op::kFpToUi; break;
    case llvm::Instruction::SIToFP: op = Op::kSiToFp; break;
    case llvm::Instruction::UIToFP: op = Op::kUiToFp; break;
    case llvm::Instruction::AddrSpaceCast: return SetPointer(&i, source[0]);
    case llvm::Instruction::PtrToInt: return SetOne(&i, Convert(source[0], to, Op::kTrunc));
    case llvm::Instruction::IntToPtr: {
      const uint32_t address = Convert(source[0], Type::kI64, Op::kZExt);
      return Set(&i, {address, Emit(Op::kProvOf, Type::kI32, {address})});
    }
    case llvm::Instruction::BitCast: {
      if (source.size() == module_.RegCount(i.getType())) {
        Regs result;
        for (uint32_t reg : source) result.push_back(Convert(reg, to, Op::kBitcast));
        return Set(&i, std::move(result));
      }
      // Between scalars and vectors of another width: glued and cut as integers, low parts first.
      const auto integer = [](int bytes) {
        return bytes == 1   ? Type::kI8
               : bytes == 2 ? Type::kI16
               : bytes == 4 ? Type::kI32
                            : Type::kI64;
      };
      const int from_bytes = isa::TypeBytes(from), to_bytes = isa::TypeBytes(to);
      if (from == Type::kI1 || to == Type::kI1)
        return Fail("a bit cast of a vector of booleans is not supported");
      Regs result;
      if (from_bytes < to_bytes) {
        const auto ratio = static_cast<size_t>(to_bytes / from_bytes);
        for (size_t n = 0; n + ratio <= source.size(); n += ratio) {
          uint32_t whole = kNoReg;
          for (size_t part = 0; part < ratio; ++part) {
            uint32_t piece = Convert(Convert(source[n + part], integer(from_bytes), Op::kBitcast),
                                     integer(to_bytes), Op::kZExt);
            if (part > 0) {
              piece = Emit(
                  Op::kShl, integer(to_bytes),
                  {piece, Const(integer(to_bytes), part * 8 * static_cast<size_t>(from_bytes))});
              piece = Emit(Op::kOr, integer(to_bytes), {whole, piece});
            }
            whole = piece;
          }
          result.push_back(Convert(whole, to, Op::kBitcast));
        }
      } else {
        const int ratio = from_bytes / to_bytes;
        for (uint32_t reg : source) {
          const uint32_t whole = Convert(reg, integer(from_bytes), Op::kBitcast);
          for (int part = 0; part < ratio; ++part) {
            uint32_t piece = whole;
            if (part > 0)
              piece = Emit(
                  Op::kLShr, integer(from_bytes),
                  {whole, Const(integer(from_bytes), static_cast<uint64_t>(part * 8 * to_bytes))});
            piece = Convert(piece, integer(to_bytes), Op::kTrunc);
            result.push_back(Convert(piece, to, Op::kBitcast));
          }
        }
      }
      return Set(&i, std::move(result));
    }
    default: return Fail(std::string("the conversion ") + i.getOpcodeName() + " is not supported");
  }
  Regs result;
  for (uint32_t reg : source)
    result.push_back(Emit(op, to, {reg}, {.aux = static_cast<uint8_t>(from)}));
  Set(&i, std::move(result));
}

void FunctionLowering::Compare(llvm::CmpInst& i) {
  llvm::Value* left = i.getOperand(0);
  const Regs a = Get(left), b = Get(i.getOperand(1));
  const bool real = llvm::isa<llvm::FCmpInst>(i);
  const int base = real ? llvm::CmpInst::FIRST_FCMP_PREDICATE : llvm::CmpInst::FIRST_ICMP_PREDICATE;
  const InstOptions options{.aux = static_cast<uint8_t>(ScalarType(left->getType())),
                            .imm = static_cast<int>(i.getPredicate()) - base};
  const size_t step = left->getType()->isPtrOrPtrVectorTy() ? 2 : 1;  // provenance is not compared
  Regs result;
  for (size_t n = 0; n < a.size(); n += step)
    result.push_back(Emit(real ? Op::kFCmp : Op::kICmp, Type::kI1, {a[n], b[n]}, options));
  Set(&i, std::move(result));
}

void FunctionLowering::Terminator(llvm::Instruction& i) {
  if (auto* branch = dyn_cast<llvm::BranchInst>(&i)) {
    if (branch->isUnconditional()) {
      fixups_.push_back({out_->code.size(), branch->getSuccessor(0), nullptr});
      return EmitTo(kNoReg, Op::kBr, Type::kI32, {});
    }
    const uint32_t condition = Reg(branch->getCondition());
    fixups_.push_back({out_->code.size(), branch->getSuccessor(0), branch->getSuccessor(1)});
    return EmitTo(kNoReg, Op::kCondBr, Type::kI1, {condition});
  }
  if (auto* ret = dyn_cast<llvm::ReturnInst>(&i)) {
    uint32_t list = 0;
    if (!out_->is_kernel) {
      Regs values;
      if (ret->getReturnValue() != nullptr) values = Get(ret->getReturnValue());
      list = static_cast<uint32_t>(out_->operands.size());
      out_->operands.push_back(static_cast<uint32_t>(values.size()));
      out_->operands.insert(out_->operands.end(), values.begin(), values.end());
    }
    return EmitTo(kNoReg, Op::kRet, Type::kI32, {}, {.extra = list});
  }
  if (llvm::isa<llvm::UnreachableInst>(i))
    return EmitTo(kNoReg, Op::kTrap, Type::kI32, {}, {.imm = 1});
  Fail(std::string("the control flow ") + i.getOpcodeName() + " is not supported in device code");
  EmitTo(kNoReg, Op::kTrap, Type::kI32, {}, {.imm = 1});
}

void FunctionLowering::VectorInstruction(llvm::Instruction& i) {
  llvm::SmallVector<Leaf, 8> leaves;
  module_.Flatten(i.getType(), 0, &leaves);
  if (auto* select = dyn_cast<llvm::SelectInst>(&i)) {
    const Regs condition = Get(select->getCondition());
    const Regs a = Get(select->getTrueValue()), b = Get(select->getFalseValue());
    if (i.getType()->isPointerTy()) {
      const uint32_t address = Emit(Op::kSelect, Type::kI64, {condition[0], a[0], b[0]});
      const bool own = ProvRoot(&i) == &i;
      const uint32_t prov =
          own ? (a[1] == b[1] ? a[1] : Emit(Op::kSelect, Type::kI32, {condition[0], a[1], b[1]}))
              : kNoReg;
      return Set(&i, {address, prov});
    }
    Regs result;
    for (size_t n = 0; n < a.size(); ++n) {
      const uint32_t chosen = condition.size() == 1 ? condition[0] : condition[n];
      result.push_back(Emit(Op::kSelect, out_->registers[a[n]].type, {chosen, a[n], b[n]}));
    }
    return Set(&i, std::move(result));
  }
  const Regs vector = Get(i.getOperand(0));
  const auto* type = dyn_cast<llvm::FixedVectorType>(i.getOperand(0)->getType());
  if (type == nullptr) return Fail("a vector of variable length is not supported");
  const unsigned lanes = type->getNumElements();
  const size_t step = vector.size() / lanes;
  if (auto* shuffle = dyn_cast<llvm::ShuffleVectorInst>(&i)) {
    const Regs second = Get(shuffle->getOperand(1));
    Regs result;
    for (int index : shuffle->getShuffleMask()) {
      const auto lane = static_cast<size_t>(index < 0 ? 0 : index);
      const Regs& from = lane < lanes ? vector : second;
      for (size_t k = 0; k < step; ++k) result.push_back(from[lane % lanes * step + k]);
    }
    return Set(&i, std::move(result));
  }
  const bool insert = llvm::isa<llvm::InsertElementInst>(i);
  llvm::Value* index_value = i.getOperand(insert ? 2 : 1);
  const Regs element = insert ? Get(i.getOperand(1)) : Regs{};
  Regs result = vector;
  if (auto* constant = dyn_cast<llvm::ConstantInt>(index_value)) {
    const size_t lane = std::min<uint64_t>(constant->getZExtValue(), lanes - 1);
    if (insert) {
      std::copy(element.begin(), element.end(),
                result.begin() + static_cast<ptrdiff_t>(lane * step));
      return Set(&i, std::move(result));
    }
    return Set(&i, Regs(vector.begin() + static_cast<ptrdiff_t>(lane * step),
                        vector.begin() + static_cast<ptrdiff_t>((lane + 1) * step)));
  }
  // A variable index: a chain of selects.
  const uint32_t index = Reg(index_value);
  const Type index_type = out_->registers[index].type;
  Regs extracted(vector.begin(), vector.begin() + static_cast<ptrdiff_t>(step));
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const uint32_t here = Emit(Op::kICmp, Type::kI1, {index, Const(index_type, lane)},
                               {.aux = static_cast<uint8_t>(index_type)});
    for (size_t k = 0; k < step; ++k) {
      uint32_t& slot = insert ? result[lane * step + k] : extracted[k];
      const uint32_t chosen = insert ? element[k] : vector[lane * step + k];
      slot = Emit(Op::kSelect, out_->registers[slot].type, {here, chosen, slot});
    }
  }
  Set(&i, insert ? std::move(result) : std::move(extracted));
}

void FunctionLowering::Aggregate(llvm::Instruction& i) {
  Regs whole = Get(i.getOperand(0));
  if (auto* extract = dyn_cast<llvm::ExtractValueInst>(&i)) {
    const uint32_t at = RegOffset(i.getOperand(0)->getType(), extract->getIndices());
    return Set(&i, Regs(whole.begin() + at, whole.begin() + at + module_.RegCount(i.getType())));
  }
  auto& insert = cast<llvm::InsertValueInst>(i);
  const Regs part = Get(insert.getInsertedValueOperand());
  std::copy(part.begin(), part.end(), whole.begin() + RegOffset(i.getType(), insert.getIndices()));
  Set(&i, std::move(whole));
}

}  // namespace kuafu::klang
