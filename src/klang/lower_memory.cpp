// SPDX-License-Identifier: Apache-2.0
// Memory: addresses and their folding, loads, stores, atomics, copies, local variables.
#include <llvm/IR/Constants.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/Operator.h>

#include "klang/lower.h"

namespace kuafu::klang {

using isa::Inst;
using isa::kNoReg;
using isa::Op;
using isa::Space;
using isa::Type;
using llvm::cast;
using llvm::dyn_cast;

namespace {

constexpr uint64_t kInlineCopyBytes = 128;  // copies up to here become loads and stores
constexpr uint64_t kMaxAccessBytes = 16;
constexpr size_t kCasLoopValues = 32;  // followed from a load to the swap it starts

bool FitsOffset(int64_t offset) { return offset >= INT32_MIN && offset <= INT32_MAX; }

uint8_t Log2(uint64_t align) {
  uint8_t log = 0;
  while (log < 12 && (uint64_t{2} << log) <= align) ++log;
  return log;
}

// Alignment of an access at offset bytes into an object aligned to align.
uint64_t AlignAt(uint64_t align, uint64_t offset) {
  return offset == 0 ? align : std::min(align, offset & (~offset + 1));
}

isa::Scope ScopeOf(llvm::LLVMContext& context, llvm::SyncScope::ID id) {
  llvm::SmallVector<llvm::StringRef, 8> names;
  context.getSyncScopeNames(names);
  const llvm::StringRef name = id < names.size() ? names[id] : llvm::StringRef();
  if (name == "block" || name == "workgroup" || name == "singlethread" || name == "wavefront")
    return isa::Scope::kBlock;
  return name == "device" || name == "agent" ? isa::Scope::kDevice : isa::Scope::kSystem;
}

bool IsAcquire(llvm::AtomicOrdering order) { return llvm::isAcquireOrStronger(order); }
bool IsRelease(llvm::AtomicOrdering order) { return llvm::isReleaseOrStronger(order); }

}  // namespace

Space FunctionLowering::SpaceOf(llvm::Value* pointer) {
  switch (pointer->getType()->getPointerAddressSpace()) {
    case 1: return Space::kGlobal;
    case 3: return Space::kShared;
    case 4: return Space::kConstant;
    case 5: return Space::kLocal;
    default: break;
  }
  llvm::Value* root = ProvRoot(pointer);
  if (auto* variable = dyn_cast<llvm::GlobalVariable>(root)) {
    if (module_.SharedIndex(variable)) return Space::kShared;
    return variable->getAddressSpace() == 4 ? Space::kConstant : Space::kGlobal;
  }
  if (llvm::isa<llvm::AllocaInst>(root)) return Space::kLocal;
  auto* arg = dyn_cast<llvm::Argument>(root);
  return arg != nullptr && out_->is_kernel && arg->hasByValAttr() ? Space::kParam : Space::kGeneric;
}

void FunctionLowering::Alloca(llvm::AllocaInst& i) {
  const auto size = i.getAllocationSize(module_.layout());
  if (!size || size->isScalable() || !llvm::isa<llvm::ConstantInt>(i.getArraySize()) ||
      i.getParent() != &function_.getEntryBlock()) {
    Fail("a local array of variable size (alloca) is not supported; give it a constant size");
    return Set(&i, {Const(Type::kI64, 0), Const(Type::kI32, 0)});
  }
  const uint64_t align = std::max<uint64_t>(i.getAlign().value(), 1);
  const uint64_t offset = (uint64_t{out_->frame_bytes} + align - 1) / align * align;
  const uint64_t bytes = size->getFixedValue();
  if (bytes > isa::kMaxFrameBytes || offset + bytes > isa::kMaxFrameBytes) {
    Fail("local variable " + i.getName().str() + " takes " + std::to_string(bytes) +
         " bytes per thread, the limit is " + std::to_string(isa::kMaxFrameBytes));
    return Set(&i, {Const(Type::kI64, 0), Const(Type::kI32, 0)});
  }
  const auto index = static_cast<uint32_t>(out_->locals.size());
  llvm::StringRef name = i.getName();
  name.consume_back(".addr");
  out_->locals.push_back({name.split('.').first.str(), static_cast<uint32_t>(offset),
                          static_cast<uint32_t>(bytes), line_});
  out_->frame_bytes = static_cast<uint32_t>(offset + bytes);
  Set(&i, {Prologue(Op::kLocalAddr, Type::kI64, {}, false, static_cast<int64_t>(offset)),
           Const(Type::kI32, isa::kProvLocal | index)});
}

// Adds what a GEP does to the mode of its base; false if it does not fit the one index a mode has.
bool FunctionLowering::Fold(llvm::GEPOperator& gep, AddressMode* mode) {
  llvm::MapVector<llvm::Value*, llvm::APInt> variables;
  llvm::APInt constant(64, 0);
  if (!gep.collectOffset(module_.layout(), 64, variables, constant)) return false;
  const int64_t offset = mode->offset + constant.getSExtValue();
  if (!FitsOffset(offset)) return false;
  if (variables.size() > 1 || (variables.size() == 1 && mode->index != kNoReg)) return false;
  if (variables.size() == 1) {
    auto& [value, scale] = *variables.begin();
    if (scale.getSExtValue() <= 0 || scale.getSExtValue() > 0xffff) return false;
    if (auto* extend = dyn_cast<llvm::SExtInst>(value);
        extend != nullptr && extend->getSrcTy()->isIntegerTy(32))
      value = extend->getOperand(0);
    if (!value->getType()->isIntegerTy(32) && !value->getType()->isIntegerTy(64)) return false;
    mode->index = Reg(value);
    mode->scale = static_cast<uint32_t>(scale.getZExtValue());
  }
  mode->offset = offset;
  return true;
}

AddressMode FunctionLowering::Mode(llvm::Value* pointer) {
  const auto it = folded_.find(pointer);
  AddressMode mode;
  if (it != folded_.end()) {
    mode = it->second;
  } else if (auto* gep = dyn_cast<llvm::GEPOperator>(pointer);
             gep != nullptr && llvm::isa<llvm::Constant>(pointer)) {
    mode = Mode(gep->getPointerOperand());
    if (!Fold(*gep, &mode)) Fail("a constant address of this form is not supported");
    return mode;
  } else {
    const Regs regs = Get(pointer);
    mode.base = regs[0];
    mode.prov = regs[1];
  }
  mode.space = SpaceOf(pointer);
  return mode;
}

uint32_t FunctionLowering::Materialize(const AddressMode& mode) {
  if (mode.index == kNoReg && mode.offset == 0) return mode.base;
  return Emit(Op::kLea, Type::kI64, {mode.base, mode.index},
              {.imm = Inst::PackMem(static_cast<int32_t>(mode.offset),
                                    static_cast<uint16_t>(mode.scale), 0, 0)});
}

void FunctionLowering::Gep(llvm::GetElementPtrInst& i) {
  if (i.getType()->isVectorTy()) return Fail("a vector of addresses is not supported");
  auto& gep = cast<llvm::GEPOperator>(i);
  AddressMode mode = Mode(i.getPointerOperand());
  const AddressMode base = mode;
  bool only_memory = true;
  for (llvm::User* user : i.users()) {
    auto* store = dyn_cast<llvm::StoreInst>(user);
    only_memory = only_memory &&
                  (llvm::isa<llvm::LoadInst>(user) || llvm::isa<llvm::GetElementPtrInst>(user) ||
                   (store != nullptr && store->getValueOperand() != &i));
  }
  if (Fold(gep, &mode)) {
    if (only_memory) {
      folded_[&i] = mode;
      return;
    }
    return SetPointer(&i, Materialize(mode));
  }
  // More than one variable index: one address computation for each.
  uint32_t address = Materialize(base);
  llvm::MapVector<llvm::Value*, llvm::APInt> variables;
  llvm::APInt constant(64, 0);
  if (!gep.collectOffset(module_.layout(), 64, variables, constant))
    return Fail("an address of this form is not supported");
  for (auto& [value, scale] : variables) {
    uint32_t index = Reg(value);
    int64_t factor = scale.getSExtValue();
    if (factor <= 0 || factor > 0xffff) {
      index = Emit(Op::kMul, Type::kI64,
                   {Convert(index, Type::kI64, Op::kSExt),
                    Const(Type::kI64, static_cast<uint64_t>(factor))});
      factor = 1;
    } else if (auto* extend = dyn_cast<llvm::SExtInst>(value);
               extend != nullptr && extend->getSrcTy()->isIntegerTy(32)) {
      index = Reg(extend->getOperand(0));
    }
    if (out_->registers[index].type != Type::kI32) index = Convert(index, Type::kI64, Op::kSExt);
    address = Emit(Op::kLea, Type::kI64, {address, index},
                   {.imm = Inst::PackMem(0, static_cast<uint16_t>(factor), 0, 0)});
  }
  const int64_t offset = constant.getSExtValue();
  if (!FitsOffset(offset)) {
    address =
        Emit(Op::kAdd, Type::kI64, {address, Const(Type::kI64, static_cast<uint64_t>(offset))});
  } else if (offset != 0) {
    address = Emit(Op::kLea, Type::kI64, {address, kNoReg},
                   {.imm = Inst::PackMem(static_cast<int32_t>(offset), 0, 0, 0)});
  }
  SetPointer(&i, address);
}

uint32_t FunctionLowering::LoadScalars(const AddressMode& mode, Type type, uint32_t count,
                                       uint64_t align, uint8_t flags) {
  const uint32_t first = NewRun(type, count);
  EmitTo(first, Op::kLoad, type, {mode.base, mode.index, mode.prov},
         {.aux = static_cast<uint8_t>(static_cast<uint8_t>(mode.space) | flags),
          .imm = Inst::PackMem(static_cast<int32_t>(mode.offset), static_cast<uint16_t>(mode.scale),
                               Log2(align), static_cast<uint8_t>(count))});
  return first;
}

void FunctionLowering::StoreScalars(const AddressMode& mode, Type type,
                                    llvm::ArrayRef<uint32_t> regs, uint64_t align, uint8_t flags) {
  uint32_t first = regs[0];
  bool consecutive = true;
  for (size_t n = 0; n < regs.size(); ++n)
    consecutive = consecutive && regs[n] == first + n && !(regs.size() > 1 && Uniform(regs[n]));
  if (!consecutive) {
    first = NewRun(type, static_cast<uint32_t>(regs.size()));
    for (size_t n = 0; n < regs.size(); ++n)
      EmitTo(first + static_cast<uint32_t>(n), Op::kMov, type, {regs[n]});
  }
  EmitTo(kNoReg, Op::kStore, type, {mode.base, mode.index, mode.prov, first},
         {.aux = static_cast<uint8_t>(static_cast<uint8_t>(mode.space) | flags),
          .imm = Inst::PackMem(static_cast<int32_t>(mode.offset), static_cast<uint16_t>(mode.scale),
                               Log2(align), static_cast<uint8_t>(regs.size()))});
}

namespace {

// Number of leaves from `at` that one access can take: same type, adjacent, at most 16 bytes.
size_t AccessLength(llvm::ArrayRef<Leaf> leaves, size_t at) {
  const auto bytes = static_cast<uint64_t>(isa::TypeBytes(leaves[at].type));
  size_t n = 1;
  while (!leaves[at].pointer && at + n < leaves.size() && !leaves[at + n].pointer &&
         leaves[at + n].type == leaves[at].type &&
         leaves[at + n].offset == leaves[at].offset + n * bytes &&
         (n + 1) * bytes <= kMaxAccessBytes) {
    ++n;
  }
  return n;
}

// The read that starts a compare-and-swap loop: `old = *p; do { seen = old; old = atomicCAS(p,
// seen, f(seen)); } while (old != seen);`, as CUDA's guide writes it. A stale value costs one more
// round, so it is taken as a relaxed atomic read and not as a race with the others' swaps.
bool StartsCasLoop(const llvm::LoadInst& load) {
  if (!load.getType()->isIntegerTy() || load.isVolatile()) return false;
  const llvm::Value* pointer = load.getPointerOperand()->stripPointerCasts();
  llvm::SmallPtrSet<const llvm::Value*, 8> seen{&load};
  llvm::SmallVector<const llvm::Value*, 8> work{&load};
  while (!work.empty() && seen.size() < kCasLoopValues) {
    const llvm::Value* value = work.pop_back_val();
    for (const llvm::User* user : value->users()) {
      if (llvm::isa<llvm::PHINode>(user) || llvm::isa<llvm::BitCastInst>(user)) {
        if (seen.insert(user).second) work.push_back(user);
      } else if (const auto* swap = dyn_cast<llvm::AtomicCmpXchgInst>(user)) {
        if (swap->getCompareOperand() == value &&
            swap->getPointerOperand()->stripPointerCasts() == pointer)
          return true;
      } else if (const auto* call = dyn_cast<llvm::CallInst>(user)) {
        const llvm::Function* callee = call->getCalledFunction();
        if (callee != nullptr && callee->getName().starts_with("__kuafu_atomic_cas_") &&
            call->getArgOperand(1) == value &&
            call->getArgOperand(0)->stripPointerCasts() == pointer)
          return true;
      }
    }
  }
  return false;
}

}  // namespace

void FunctionLowering::Load(llvm::LoadInst& i) {
  AddressMode mode = Mode(i.getPointerOperand());
  llvm::SmallVector<Leaf, 8> leaves;
  module_.Flatten(i.getType(), 0, &leaves);
  Regs result;
  if (i.isAtomic() || StartsCasLoop(i)) {
    const uint32_t address = Materialize(mode);
    const Type type = leaves[0].type;
    const uint32_t value = NewReg(type);
    EmitTo(value, Op::kAtomicLoad, type, {address, kNoReg, mode.prov},
           {.extra =
                isa::AtomicExtra(isa::AtomicOp::kXchg, ScopeOf(i.getContext(), i.getSyncScopeID()),
                                 IsAcquire(i.getOrdering()), false)});
    result.push_back(value);
    if (leaves[0].pointer) result.push_back(Emit(Op::kProvOf, Type::kI32, {value}));
    return Set(&i, std::move(result));
  }
  const uint8_t flags = i.isVolatile() ? isa::kMemVolatile : 0;
  const int64_t offset = mode.offset;
  for (size_t n = 0; n < leaves.size();) {
    const size_t length = AccessLength(leaves, n);
    mode.offset = offset + static_cast<int64_t>(leaves[n].offset);
    const uint32_t first = LoadScalars(mode, leaves[n].type, static_cast<uint32_t>(length),
                                       AlignAt(i.getAlign().value(), leaves[n].offset), flags);
    for (size_t k = 0; k < length; ++k) result.push_back(first + static_cast<uint32_t>(k));
    if (leaves[n].pointer) result.push_back(Emit(Op::kProvOf, Type::kI32, {first}));
    n += length;
  }
  Set(&i, std::move(result));
}

void FunctionLowering::Store(llvm::StoreInst& i) {
  llvm::Value* value = i.getValueOperand();
  if (llvm::isa<llvm::UndefValue>(value) && !i.isVolatile())
    return;  // nothing meaningful is written
  AddressMode mode = Mode(i.getPointerOperand());
  llvm::SmallVector<Leaf, 8> leaves;
  if (!module_.Flatten(value->getType(), 0, &leaves))
    return Fail("a store of this type is not supported");
  const Regs regs = Get(value);
  if (i.isAtomic()) {
    const uint32_t address = Materialize(mode);
    return EmitTo(kNoReg, Op::kAtomicStore, leaves[0].type, {address, kNoReg, mode.prov, regs[0]},
                  {.extra = isa::AtomicExtra(isa::AtomicOp::kXchg,
                                             ScopeOf(i.getContext(), i.getSyncScopeID()), false,
                                             IsRelease(i.getOrdering()))});
  }
  const uint8_t flags = i.isVolatile() ? isa::kMemVolatile : 0;
  const int64_t offset = mode.offset;
  size_t reg = 0;
  for (size_t n = 0; n < leaves.size();) {
    const size_t length = AccessLength(leaves, n);
    mode.offset = offset + static_cast<int64_t>(leaves[n].offset);
    StoreScalars(mode, leaves[n].type, llvm::ArrayRef<uint32_t>(regs).slice(reg, length),
                 AlignAt(i.getAlign().value(), leaves[n].offset), flags);
    reg += leaves[n].pointer ? 2 : length;
    n += length;
  }
}

void FunctionLowering::AtomicRmw(llvm::AtomicRMWInst& i) {
  using Rmw = llvm::AtomicRMWInst;
  static constexpr std::pair<Rmw::BinOp, isa::AtomicOp> kOps[] = {
      {Rmw::Xchg, isa::AtomicOp::kXchg},   {Rmw::Add, isa::AtomicOp::kAdd},
      {Rmw::Sub, isa::AtomicOp::kSub},     {Rmw::And, isa::AtomicOp::kAnd},
      {Rmw::Or, isa::AtomicOp::kOr},       {Rmw::Xor, isa::AtomicOp::kXor},
      {Rmw::Max, isa::AtomicOp::kSMax},    {Rmw::Min, isa::AtomicOp::kSMin},
      {Rmw::UMax, isa::AtomicOp::kUMax},   {Rmw::UMin, isa::AtomicOp::kUMin},
      {Rmw::FAdd, isa::AtomicOp::kFAdd},   {Rmw::FMin, isa::AtomicOp::kFMin},
      {Rmw::FMax, isa::AtomicOp::kFMax},   {Rmw::UIncWrap, isa::AtomicOp::kInc},
      {Rmw::UDecWrap, isa::AtomicOp::kDec}};
  const AddressMode mode = Mode(i.getPointerOperand());
  const uint32_t address = Materialize(mode);
  Regs value = Get(i.getValOperand());
  auto op = isa::AtomicOp::kXchg;
  bool known = false;
  for (const auto& [operation, mapped] : kOps) {
    if (operation == i.getOperation()) {
      op = mapped;
      known = true;
    }
  }
  const Type type = out_->registers[value[0]].type;
  if (i.getOperation() == Rmw::FSub) {
    value[0] = Emit(Op::kFNeg, type, {value[0]});
    op = isa::AtomicOp::kFAdd;
    known = true;
  }
  if (value.size() > 2 || (value.size() == 2 && !i.getType()->isPointerTy())) known = false;
  if (!known) {
    Fail("the atomic operation " + Rmw::getOperationName(i.getOperation()).str() +
         " on this type is not supported");
    return Set(&i, std::move(value));
  }
  const uint32_t old = i.use_empty() ? kNoReg : NewReg(type);
  EmitTo(old, Op::kAtomicRmw, type, {address, kNoReg, mode.prov, value[0]},
         {.extra = isa::AtomicExtra(op, ScopeOf(i.getContext(), i.getSyncScopeID()),
                                    IsAcquire(i.getOrdering()), IsRelease(i.getOrdering()))});
  if (old == kNoReg) return;
  Regs result{old};
  if (i.getType()->isPointerTy()) result.push_back(Emit(Op::kProvOf, Type::kI32, {old}));
  Set(&i, std::move(result));
}

void FunctionLowering::AtomicCas(llvm::AtomicCmpXchgInst& i) {
  const AddressMode mode = Mode(i.getPointerOperand());
  const uint32_t address = Materialize(mode);
  const uint32_t expected = Reg(i.getCompareOperand()), desired = Reg(i.getNewValOperand());
  const Type type = out_->registers[expected].type;
  const uint32_t old = NewReg(type);
  EmitTo(old, Op::kAtomicCas, type, {address, expected, mode.prov, desired},
         {.extra = isa::AtomicExtra(
              isa::AtomicOp::kXchg, ScopeOf(i.getContext(), i.getSyncScopeID()),
              IsAcquire(i.getSuccessOrdering()), IsRelease(i.getSuccessOrdering()))});
  Regs result{old};
  if (i.getCompareOperand()->getType()->isPointerTy())
    result.push_back(Emit(Op::kProvOf, Type::kI32, {old}));
  result.push_back(Emit(
      Op::kICmp, Type::kI1, {old, expected},
      {.aux = static_cast<uint8_t>(type), .imm = static_cast<int64_t>(isa::IntPredicate::kEq)}));
  Set(&i, std::move(result));
}

void FunctionLowering::MemTransfer(llvm::MemTransferInst& i) {
  AddressMode to = Mode(i.getRawDest()), from = Mode(i.getRawSource());
  const auto* length = dyn_cast<llvm::ConstantInt>(i.getLength());
  const uint64_t to_align = i.getDestAlign().valueOrOne().value(),
                 from_align = i.getSourceAlign().valueOrOne().value();
  if (length != nullptr && length->getZExtValue() <= kInlineCopyBytes) {
    // All loads before all stores, so that overlap is as harmless as in memmove. The pieces are as
    // wide as the weaker alignment allows; the loads may carry padding, which is never initialised.
    struct Piece {
      Type type;
      uint32_t count, first;
      uint64_t offset;
    };
    std::vector<Piece> pieces;
    const uint64_t bytes = length->getZExtValue(), align = std::min(to_align, from_align);
    const int64_t to_offset = to.offset, from_offset = from.offset;
    if (!FitsOffset(to_offset + static_cast<int64_t>(bytes)) ||
        !FitsOffset(from_offset + static_cast<int64_t>(bytes)))
      return Fail("a copy at this offset is not supported");
    for (uint64_t at = 0; at < bytes;) {
      uint64_t width = std::min<uint64_t>(align, 8);
      while (width > bytes - at) width /= 2;
      const Type type = width == 8   ? Type::kI64
                        : width == 4 ? Type::kI32
                        : width == 2 ? Type::kI16
                                     : Type::kI8;
      const uint64_t run = std::min(std::max(align, width), kMaxAccessBytes) / width;
      const auto count =
          static_cast<uint32_t>(std::max<uint64_t>(1, std::min(run, (bytes - at) / width)));
      from.offset = from_offset + static_cast<int64_t>(at);
      const uint32_t first = LoadScalars(from, type, count, AlignAt(from_align, at),
                                         isa::kMemCopy | (i.isVolatile() ? isa::kMemVolatile : 0));
      pieces.push_back({type, count, first, at});
      at += width * count;
    }
    for (const Piece& piece : pieces) {
      to.offset = to_offset + static_cast<int64_t>(piece.offset);
      Regs regs;
      for (uint32_t k = 0; k < piece.count; ++k) regs.push_back(piece.first + k);
      StoreScalars(to, piece.type, regs, AlignAt(to_align, piece.offset),
                   isa::kMemCopy | (i.isVolatile() ? isa::kMemVolatile : 0));
    }
    return;
  }
  const uint32_t to_address = Materialize(to), from_address = Materialize(from);
  if (length != nullptr && length->getZExtValue() < (1u << 28)) {
    return EmitTo(kNoReg, Op::kMemCopy, Type::kI8, {to_address, to.prov, from_address, from.prov},
                  {.imm = static_cast<int64_t>(length->getZExtValue())});
  }
  const uint32_t count = Convert(Reg(i.getLength()), Type::kI64, Op::kZExt);
  EmitTo(kNoReg, Op::kMemCopyDyn, Type::kI8, {to_address, to.prov, from_address, from.prov},
         {.extra = count});
}

void FunctionLowering::MemSet(llvm::MemSetInst& i) {
  AddressMode to = Mode(i.getRawDest());
  const auto* length = dyn_cast<llvm::ConstantInt>(i.getLength());
  const auto* byte = dyn_cast<llvm::ConstantInt>(i.getValue());
  const uint64_t align = i.getDestAlign().valueOrOne().value();
  if (length != nullptr && byte != nullptr && length->getZExtValue() <= kInlineCopyBytes) {
    const uint64_t bytes = length->getZExtValue(),
                   pattern = byte->getZExtValue() * 0x0101010101010101ull;
    const int64_t offset = to.offset;
    if (!FitsOffset(offset + static_cast<int64_t>(bytes)))
      return Fail("a fill at this offset is not supported");
    for (uint64_t at = 0; at < bytes;) {
      uint64_t width = std::min<uint64_t>(align, 8);
      while (width > bytes - at) width /= 2;
      const Type type = width == 8   ? Type::kI64
                        : width == 4 ? Type::kI32
                        : width == 2 ? Type::kI16
                                     : Type::kI8;
      to.offset = offset + static_cast<int64_t>(at);
      StoreScalars(to, type, {Const(type, pattern)}, AlignAt(align, at), 0);
      at += width;
    }
    return;
  }
  const uint32_t address = Materialize(to);
  const uint32_t count = Convert(Reg(i.getLength()), Type::kI64, Op::kZExt);
  EmitTo(kNoReg, Op::kMemSet, Type::kI8, {address, to.prov, count, Reg(i.getValue())});
}

}  // namespace kuafu::klang
