// SPDX-License-Identifier: Apache-2.0
// One function: parameters, block order, phis as moves on edges, values, provenance, emission.
#include <algorithm>
#include <functional>

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Operator.h>

#include "klang/lower.h"

namespace kuafu::klang {

using isa::kNoReg;
using isa::Op;
using isa::Type;
using llvm::cast;
using llvm::dyn_cast;

namespace {

constexpr int kOverflowDepth = 8;  // arithmetic steps followed back from an address

// "float const*" and the like, from a demangled signature; empty when there is none (extern "C").
std::vector<std::string> ParameterTypes(llvm::StringRef pretty) {
  std::vector<std::string> types;
  if (pretty.empty() || pretty.back() != ')') return types;
  int depth = 0;
  size_t end = pretty.size() - 1;
  for (size_t at = pretty.size(); at-- > 0;) {
    const char c = pretty[at];
    if (c == ')' || c == '>') ++depth;
    if (c == '<') --depth;
    const bool open = c == '(' && --depth == 0;
    if (open || (c == ',' && depth == 1)) {
      types.push_back(pretty.slice(at + 1, end).trim().str());
      end = at;
      if (open) break;
    }
  }
  std::reverse(types.begin(), types.end());
  return types;
}

uint32_t MaxThreads(const llvm::Function& f) {
  uint32_t threads = 1;
  bool found = false;
  const llvm::NamedMDNode* annotations = f.getParent()->getNamedMetadata("nvvm.annotations");
  if (annotations == nullptr) return 0;
  for (const llvm::MDNode* node : annotations->operands()) {
    if (node->getNumOperands() < 3) continue;
    const auto* subject = llvm::dyn_cast_or_null<llvm::ValueAsMetadata>(node->getOperand(0).get());
    if (subject == nullptr || subject->getValue() != &f) continue;
    for (unsigned n = 1; n + 1 < node->getNumOperands(); n += 2) {
      const auto* key = dyn_cast<llvm::MDString>(node->getOperand(n));
      const auto* value = llvm::mdconst::dyn_extract<llvm::ConstantInt>(node->getOperand(n + 1));
      if (key == nullptr || value == nullptr || !key->getString().starts_with("maxntid")) continue;
      threads *= static_cast<uint32_t>(value->getZExtValue());
      found = true;
    }
  }
  return found ? threads : 0;
}

}  // namespace

FunctionLowering::FunctionLowering(ModuleLowering& module, llvm::Function& function,
                                   isa::Function* out)
    : module_(module), function_(function), out_(out) {}

void FunctionLowering::Run() {
  out_->name = function_.getName().str();
  out_->pretty = llvm::demangle(out_->name);
  out_->is_kernel = module_.IsKernel(&function_);
  if (llvm::DISubprogram* info = function_.getSubprogram()) {
    location_ = llvm::DILocation::get(function_.getContext(), info->getLine(), 1,
                                      function_.getSubprogram());
    out_->line = module_.LineOf(location_);
  }
  out_->max_threads = MaxThreads(function_);
  Parameters();
  FindOverflowChecks();
  std::vector<llvm::BasicBlock*> order;
  OrderBlocks(&order);
  for (llvm::BasicBlock* block : order) DeclarePhis(*block);
  for (size_t n = 0; n < order.size(); ++n) {
    llvm::BasicBlock* block = order[n];
    block_at_[block] = static_cast<uint32_t>(out_->code.size());
    // Critical edges are split: a block behind a branch has one predecessor and makes the moves
    // itself.
    llvm::BasicBlock* from = block->getSinglePredecessor();
    if (from != nullptr && from->getSingleSuccessor() == nullptr) EdgeMoves(*from, *block);
    for (llvm::Instruction& i : *block) {
      if (llvm::isa<llvm::PHINode>(i)) continue;
      if (i.getDebugLoc()) {
        location_ = i.getDebugLoc();
        line_ = module_.LineOf(location_);
      }
      if (i.isTerminator()) {
        llvm::BasicBlock* to = block->getSingleSuccessor();
        if (to != nullptr) EdgeMoves(*block, *to);
        if (to != nullptr && n + 1 < order.size() && order[n + 1] == to) continue;  // falls through
      }
      Instruction(i);
    }
  }
  Finish();
}

void FunctionLowering::Parameters() {
  const std::vector<std::string> types = ParameterTypes(out_->pretty);
  uint64_t offset = 0;
  for (llvm::Argument& arg : function_.args()) {
    if (!out_->is_kernel) {
      llvm::SmallVector<Leaf, 4> leaves;
      if (!module_.Flatten(arg.getType(), 0, &leaves))
        Fail("a parameter of " + out_->pretty + " has a type that is not supported");
      Regs regs;
      for (const Leaf& leaf : leaves) {
        regs.push_back(NewReg(leaf.type));
        if (leaf.pointer) regs.push_back(NewReg(Type::kI32));
      }
      out_->param_regs.insert(out_->param_regs.end(), regs.begin(), regs.end());
      Set(&arg, std::move(regs));
      continue;
    }
    llvm::Type* type = arg.hasByValAttr() ? arg.getParamByValType() : arg.getType();
    const llvm::DataLayout& layout = module_.layout();
    const uint64_t bytes = layout.getTypeAllocSize(type);
    const uint64_t align = arg.hasByValAttr() ? arg.getParamAlign().valueOrOne().value()
                                              : layout.getABITypeAlign(type).value();
    offset = (offset + align - 1) / align * align;
    isa::Param param;
    param.name = arg.getName().str();
    if (types.size() == function_.arg_size()) param.type_name = types[arg.getArgNo()];
    param.offset = static_cast<uint32_t>(offset);
    param.bytes = static_cast<uint32_t>(bytes);
    param.is_pointer = arg.getType()->isPointerTy() && !arg.hasByValAttr();
    param.read_only = param.is_pointer && llvm::StringRef(param.type_name).ends_with("const*");
    llvm::SmallVector<Leaf, 4> leaves;
    if (offset + bytes > 4096)
      Fail("the parameters of kernel " + out_->pretty + " take more than 4096 bytes");
    if (arg.hasByValAttr()) {
      Set(&arg, {Prologue(Op::kParamAddr, Type::kI64, {}, true, static_cast<int64_t>(offset)),
                 Const(Type::kI32, isa::kProvParam)});
    } else if (!module_.Flatten(type, 0, &leaves) || leaves.size() != 1) {
      Fail("parameter " + param.name + " of kernel " + out_->pretty +
           " has a type that is not supported");
    } else {
      param.reg = NewReg(leaves[0].type, true);
      if (param.is_pointer) param.prov_reg = NewReg(Type::kI32, true);
      Set(&arg, param.is_pointer ? Regs{param.reg, param.prov_reg} : Regs{param.reg});
    }
    offset += bytes;
    out_->params.push_back(std::move(param));
  }
  if (!out_->is_kernel)
    out_->result_count =
        function_.getReturnType()->isVoidTy() ? 0 : module_.RegCount(function_.getReturnType());
}

// Reverse post-order in which every loop is contiguous: inside a region (a loop or the whole
// function) each inner loop counts as one node. The interpreter runs the lowest pc first; were the
// exit of a loop placed before part of its body, lanes that leave early would run ahead instead of
// waiting for the others.
void FunctionLowering::OrderBlocks(std::vector<llvm::BasicBlock*>* order) {
  llvm::DominatorTree dominators(function_);
  llvm::LoopInfo loops(dominators);
  struct Region {
    llvm::Loop* loop;
    llvm::BasicBlock* entry;
  };
  const auto child_of = [&](llvm::BasicBlock* block, llvm::Loop* region) -> llvm::Loop* {
    llvm::Loop* loop = loops.getLoopFor(block);
    while (loop != nullptr && loop->getParentLoop() != region) loop = loop->getParentLoop();
    return loop;
  };
  std::function<void(Region)> visit_region = [&](Region region) {
    // Nodes are named by a block: a plain block by itself, an inner loop by its header.
    llvm::SmallPtrSet<llvm::BasicBlock*, 32> seen;
    std::vector<llvm::BasicBlock*> post;
    struct Frame {
      llvm::BasicBlock* node;
      std::vector<llvm::BasicBlock*> successors;
      size_t next = 0;
    };
    const auto make_frame = [&](llvm::BasicBlock* node) {
      Frame frame{node, {}};
      llvm::Loop* inner = child_of(node, region.loop);
      std::vector<llvm::BasicBlock*> targets;
      if (inner != nullptr) {
        llvm::SmallVector<llvm::BasicBlock*, 8> exits;
        inner->getExitBlocks(exits);
        targets.assign(exits.begin(), exits.end());
      } else {
        targets.assign(llvm::succ_begin(node), llvm::succ_end(node));
      }
      for (llvm::BasicBlock* target : targets) {
        if (region.loop != nullptr && (!region.loop->contains(target) || target == region.entry))
          continue;
        llvm::Loop* target_loop = child_of(target, region.loop);
        frame.successors.push_back(target_loop != nullptr ? target_loop->getHeader() : target);
      }
      // The first successor is to come first: visited last.
      std::reverse(frame.successors.begin(), frame.successors.end());
      return frame;
    };
    std::vector<Frame> stack;
    seen.insert(region.entry);
    stack.push_back(make_frame(region.entry));
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.successors.size()) {
        post.push_back(top.node);
        stack.pop_back();
        continue;
      }
      llvm::BasicBlock* next = top.successors[top.next++];
      if (seen.insert(next).second) stack.push_back(make_frame(next));
    }
    std::reverse(post.begin(), post.end());
    for (llvm::BasicBlock* node : post) {
      llvm::Loop* inner = child_of(node, region.loop);
      if (inner == nullptr) {
        order->push_back(node);
      } else {
        visit_region({inner, inner->getHeader()});
      }
    }
  };
  visit_region({nullptr, &function_.getEntryBlock()});
}

void FunctionLowering::DeclarePhis(llvm::BasicBlock& block) {
  for (llvm::PHINode& phi : block.phis()) {
    llvm::SmallVector<Leaf, 4> leaves;
    if (!module_.Flatten(phi.getType(), 0, &leaves)) Fail("a value of this type is not supported");
    Regs regs;
    for (const Leaf& leaf : leaves) {
      regs.push_back(NewReg(leaf.type));
      if (!leaf.pointer) continue;
      const bool own = !phi.getType()->isPointerTy() || ProvRoot(&phi) == &phi;
      regs.push_back(own ? NewReg(Type::kI32) : kNoReg);
    }
    Set(&phi, std::move(regs));
  }
}

// All moves of an edge happen at once; a cycle among them is broken with a temporary.
void FunctionLowering::EdgeMoves(llvm::BasicBlock& from, llvm::BasicBlock& to) {
  std::vector<std::pair<uint32_t, uint32_t>> moves;
  for (llvm::PHINode& phi : to.phis()) {
    llvm::Value* value = phi.getIncomingValueForBlock(&from);
    if (llvm::isa<llvm::UndefValue>(value)) continue;
    const Regs source = Get(value);
    const Regs& target = values_[&phi];
    for (size_t n = 0; n < target.size() && n < source.size(); ++n) {
      if (target[n] != kNoReg && target[n] != source[n]) moves.emplace_back(target[n], source[n]);
    }
  }
  while (!moves.empty()) {
    bool progress = false;
    for (size_t n = 0; n < moves.size(); ++n) {
      const bool blocked = std::any_of(moves.begin(), moves.end(),
                                       [&](const auto& m) { return m.second == moves[n].first; });
      if (blocked) continue;
      EmitTo(moves[n].first, Op::kMov, out_->registers[moves[n].first].type, {moves[n].second});
      moves.erase(moves.begin() + static_cast<ptrdiff_t>(n));
      progress = true;
      break;
    }
    if (progress) continue;
    const uint32_t saved = moves[0].first;
    const uint32_t temporary = NewReg(out_->registers[saved].type);
    EmitTo(temporary, Op::kMov, out_->registers[saved].type, {saved});
    for (auto& move : moves) {
      if (move.second == saved) move.second = temporary;
    }
  }
}

void FunctionLowering::WalkIndex(llvm::Value* value, int depth) {
  auto* i = dyn_cast<llvm::Instruction>(value);
  if (i == nullptr || depth == 0) return;
  switch (i->getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::Mul:
    case llvm::Instruction::Shl:
      if (i->getType()->isIntegerTy(32) && i->hasNoSignedWrap()) checked_.insert(i);
      [[fallthrough]];
    // What wraps before a division or a mask is as wrong after it.
    case llvm::Instruction::SDiv:
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SRem:
    case llvm::Instruction::URem:
    case llvm::Instruction::AShr:
    case llvm::Instruction::LShr:
    case llvm::Instruction::And:
    case llvm::Instruction::Or:
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt:
    case llvm::Instruction::Select:
    case llvm::Instruction::PHI:
      for (llvm::Value* operand : i->operands()) WalkIndex(operand, depth - 1);
      return;
    default: return;
  }
}

void FunctionLowering::FindOverflowChecks() {
  for (llvm::BasicBlock& block : function_) {
    for (llvm::Instruction& i : block) {
      llvm::Value* pointer = llvm::getPointerOperand(&i);
      if (auto* rmw = dyn_cast<llvm::AtomicRMWInst>(&i)) pointer = rmw->getPointerOperand();
      if (auto* cas = dyn_cast<llvm::AtomicCmpXchgInst>(&i)) pointer = cas->getPointerOperand();
      if (pointer == nullptr || llvm::isa<llvm::GetElementPtrInst>(i)) continue;
      for (int hops = 0; hops < kOverflowDepth; ++hops) {
        auto* gep = dyn_cast<llvm::GEPOperator>(pointer);
        if (gep == nullptr) break;
        for (llvm::Value* index : gep->indices()) WalkIndex(index, kOverflowDepth);
        pointer = gep->getPointerOperand();
      }
    }
  }
}

void FunctionLowering::Finish() {
  const auto shift = static_cast<uint32_t>(prologue_.size());
  for (const Fixup& fixup : fixups_) {
    isa::Inst& i = out_->code[fixup.at];
    i.imm = block_at_[fixup.on_true] + shift;
    if (fixup.on_false != nullptr) i.extra = block_at_[fixup.on_false] + shift;
  }
  out_->code.insert(out_->code.begin(), prologue_.begin(), prologue_.end());
  out_->frame_bytes = (out_->frame_bytes + 15) / 16 * 16;
  if (out_->frame_bytes > isa::kMaxFrameBytes) {
    Fail("the local variables of " + out_->pretty + " take " + std::to_string(out_->frame_bytes) +
         " bytes per thread, the limit is " + std::to_string(isa::kMaxFrameBytes));
  }
  if (out_->registers.size() > isa::kMaxRegisters || out_->code.size() > isa::kMaxInstructions) {
    Fail("function " + out_->pretty + " is too large: " + std::to_string(out_->code.size()) +
         " instructions; unroll less");
  }
}

uint32_t FunctionLowering::NewReg(Type type, bool uniform) {
  out_->registers.push_back({type, uniform});
  return static_cast<uint32_t>(out_->registers.size() - 1);
}

uint32_t FunctionLowering::NewRun(Type type, uint32_t count) {
  const uint32_t first = static_cast<uint32_t>(out_->registers.size());
  out_->registers.insert(out_->registers.end(), count, {type, false});
  return first;
}

void FunctionLowering::EmitTo(uint32_t dst, Op op, Type type,
                              std::initializer_list<uint32_t> operands, InstOptions options) {
  isa::Inst i;
  i.op = op;
  i.type = type;
  i.dst = dst;
  uint32_t* slots[] = {&i.a, &i.b, &i.c, &i.d};
  size_t n = 0;
  for (uint32_t reg : operands) *slots[n++] = reg;
  i.aux = options.aux;
  i.imm = options.imm;
  i.extra = options.extra;
  i.line = line_;
  out_->code.push_back(i);
}

uint32_t FunctionLowering::Emit(Op op, Type type, std::initializer_list<uint32_t> operands,
                                InstOptions options) {
  bool uniform = op < Op::kSpecial || op == Op::kLea || op == Op::kProvOf;
  for (uint32_t reg : operands) uniform = uniform && (reg == kNoReg || Uniform(reg));
  const uint32_t dst =
      NewReg(op == Op::kICmp || op == Op::kFCmp || op == Op::kVote ? Type::kI1 : type, uniform);
  EmitTo(dst, op, type, operands, options);
  return dst;
}

uint32_t FunctionLowering::Prologue(Op op, Type type, std::initializer_list<uint32_t> operands,
                                    bool uniform, int64_t imm) {
  const uint32_t first = operands.size() == 0 ? kNoReg : *operands.begin();
  const auto [it, added] = prologue_cache_.try_emplace({static_cast<int>(op), first, imm}, 0);
  if (!added) return it->second;
  it->second = NewReg(type, uniform);
  isa::Inst i;
  i.op = op;
  i.type = type;
  i.dst = it->second;
  if (operands.size() > 0) i.a = first;
  i.imm = imm;
  prologue_.push_back(i);
  return it->second;
}

uint32_t FunctionLowering::Const(Type type, uint64_t bits) {
  const int bytes = isa::TypeBytes(type);
  if (type == Type::kI1) bits &= 1;
  if (bytes < 8) bits &= (uint64_t{1} << (8 * bytes)) - 1;
  const auto [it, added] = constants_.try_emplace({static_cast<int>(type), bits}, 0);
  if (added) {
    it->second = NewReg(type, true);
    out_->constants.push_back({it->second, bits});
  }
  return it->second;
}

uint32_t FunctionLowering::Special(isa::SpecialReg which) {
  const bool lane = which <= isa::SpecialReg::kTidZ || which == isa::SpecialReg::kLaneId ||
                    which == isa::SpecialReg::kWarpId;
  return Prologue(Op::kSpecial, Type::kI32, {}, !lane, static_cast<int64_t>(which));
}

uint32_t FunctionLowering::Convert(uint32_t reg, Type to, Op op) {
  const Type from = out_->registers[reg].type;
  return from == to ? reg : Emit(op, to, {reg}, {.aux = static_cast<uint8_t>(from)});
}

Type FunctionLowering::ScalarType(llvm::Type* type) const {
  llvm::SmallVector<Leaf, 4> leaves;
  if (!module_.Flatten(type->getScalarType(), 0, &leaves) || leaves.empty()) return Type::kI64;
  return leaves[0].type;
}

// First register of the element that indices select in an aggregate.
uint32_t FunctionLowering::RegOffset(llvm::Type* type, llvm::ArrayRef<unsigned> indices) const {
  uint32_t offset = 0;
  for (unsigned index : indices) {
    if (auto* record = dyn_cast<llvm::StructType>(type)) {
      for (unsigned n = 0; n < index; ++n) offset += module_.RegCount(record->getElementType(n));
      type = record->getElementType(index);
    } else {
      type = type->getContainedType(0);
      offset += index * module_.RegCount(type);
    }
  }
  return offset;
}

Regs FunctionLowering::Get(llvm::Value* value) {
  if (auto* constant = dyn_cast<llvm::Constant>(value)) return ConstantRegs(constant);
  const auto folded = folded_.find(value);
  if (folded != folded_.end()) {
    const AddressMode mode = folded->second;
    return {Materialize(mode), mode.prov};
  }
  const auto it = values_.find(value);
  if (it == values_.end()) {
    Fail("internal: a value is used before it is computed");
    return Regs(std::max(1u, module_.RegCount(value->getType())),
                Const(ScalarType(value->getType()), 0));
  }
  Regs regs = it->second;
  if (value->getType()->isPointerTy() && regs[1] == kNoReg) regs[1] = Prov(value);
  return regs;
}

Regs FunctionLowering::ConstantRegs(llvm::Constant* c) {
  llvm::Type* type = c->getType();
  if (type->isPointerTy()) {
    if (llvm::isa<llvm::ConstantPointerNull>(c) || llvm::isa<llvm::UndefValue>(c)) {
      return {Const(Type::kI64, 0), Const(Type::kI32, isa::kProvNone)};
    }
    if (auto* function = dyn_cast<llvm::Function>(c)) {
      const auto index = module_.FunctionIndex(function);
      if (!index)
        Fail("the address of " + llvm::demangle(function->getName().str()) +
             " is taken, but it has no definition");
      return {Prologue(Op::kFuncAddr, Type::kI64, {}, true, index.value_or(0)),
              Const(Type::kI32, isa::kProvNone)};
    }
    if (auto* variable = dyn_cast<llvm::GlobalVariable>(c)) {
      if (const auto shared = module_.SharedIndex(variable)) {
        return {Prologue(Op::kSharedAddr, Type::kI64, {}, true, *shared),
                Const(Type::kI32, isa::kProvShared | *shared)};
      }
      const uint32_t address = Prologue(Op::kGlobalAddr, Type::kI64, {}, true,
                                        module_.GlobalIndex(variable).value_or(0));
      return {address, Prologue(Op::kProvOf, Type::kI32, {address}, true, 0)};
    }
    if (auto* gep = dyn_cast<llvm::GEPOperator>(c)) {
      llvm::APInt offset(64, 0);
      if (gep->accumulateConstantOffset(module_.layout(), offset)) {
        const Regs base = Get(gep->getPointerOperand());
        return {Prologue(Op::kLea, Type::kI64, {base[0]}, true,
                         isa::Inst::PackMem(static_cast<int32_t>(offset.getSExtValue()), 0, 0, 0)),
                base[1]};
      }
    }
    if (auto* cast_op = dyn_cast<llvm::AddrSpaceCastOperator>(c))
      return Get(cast_op->getPointerOperand());
    if (auto* expr = dyn_cast<llvm::ConstantExpr>(c);
        expr != nullptr && expr->getOpcode() == llvm::Instruction::IntToPtr) {
      const uint32_t address = Reg(expr->getOperand(0));
      return {address, Prologue(Op::kProvOf, Type::kI32, {address}, true, 0)};
    }
    Fail("a constant address of this form is not supported");
    return {Const(Type::kI64, 0), Const(Type::kI32, isa::kProvNone)};
  }
  if (auto* number = dyn_cast<llvm::ConstantInt>(c);
      number != nullptr && number->getBitWidth() <= 64) {
    return {Const(ScalarType(type), number->getZExtValue())};
  }
  if (auto* real = dyn_cast<llvm::ConstantFP>(c);
      real != nullptr && type->getPrimitiveSizeInBits() <= 64) {
    return {Const(ScalarType(type), real->getValueAPF().bitcastToAPInt().getZExtValue())};
  }
  if (auto* expr = dyn_cast<llvm::ConstantExpr>(c);
      expr != nullptr && expr->getOpcode() == llvm::Instruction::PtrToInt &&
      type->isIntegerTy(64)) {
    return {Reg(expr->getOperand(0))};
  }
  llvm::SmallVector<Leaf, 8> leaves;
  if (!module_.Flatten(type, 0, &leaves)) Fail("a constant of this type is not supported");
  Regs regs;
  if (llvm::isa<llvm::UndefValue>(c) || llvm::isa<llvm::ConstantAggregateZero>(c) ||
      leaves.size() <= 1) {
    const bool known = llvm::isa<llvm::UndefValue>(c) ||
                       llvm::isa<llvm::ConstantAggregateZero>(c) || type->isAggregateType() ||
                       type->isVectorTy();
    if (!known) Fail("a constant expression of this form is not supported");
    if (known && leaves.size() == 1 && c->getAggregateElement(0u) != nullptr &&
        !llvm::isa<llvm::UndefValue>(c))
      return Get(c->getAggregateElement(0u));
    for (const Leaf& leaf : leaves) {
      regs.push_back(Const(leaf.type, 0));
      if (leaf.pointer) regs.push_back(Const(Type::kI32, 0));
    }
    return regs;
  }
  for (unsigned n = 0; llvm::Constant* element = c->getAggregateElement(n); ++n) {
    const Regs part = Get(element);
    regs.append(part.begin(), part.end());
  }
  return regs;
}

// The one object a pointer is derived from, or the phi or select that joins several.
llvm::Value* FunctionLowering::ProvRoot(llvm::Value* pointer) {
  const auto step = [](llvm::Value* v) {
    for (;;) {
      if (auto* gep = dyn_cast<llvm::GEPOperator>(v)) {
        v = gep->getPointerOperand();
      } else if (auto* cast_op = dyn_cast<llvm::AddrSpaceCastOperator>(v)) {
        v = cast_op->getPointerOperand();
      } else if (auto* freeze = dyn_cast<llvm::FreezeInst>(v)) {
        v = freeze->getOperand(0);
      } else {
        return v;
      }
    }
  };
  llvm::Value* start = step(pointer);
  if (!llvm::isa<llvm::PHINode>(start) && !llvm::isa<llvm::SelectInst>(start)) return start;
  const auto known = prov_roots_.find(start);
  if (known != prov_roots_.end()) return known->second;
  llvm::SmallPtrSet<llvm::Value*, 16> seen{start};
  std::vector<llvm::Value*> work{start};
  llvm::Value* root = nullptr;
  bool unique = true;
  while (!work.empty() && unique) {
    llvm::Value* v = work.back();
    work.pop_back();
    llvm::SmallVector<llvm::Value*, 4> inputs;
    if (auto* phi = dyn_cast<llvm::PHINode>(v)) {
      inputs.append(phi->value_op_begin(), phi->value_op_end());
    } else {
      inputs = {cast<llvm::SelectInst>(v)->getTrueValue(),
                cast<llvm::SelectInst>(v)->getFalseValue()};
    }
    for (llvm::Value* input : inputs) {
      llvm::Value* next = step(input);
      if (llvm::isa<llvm::UndefValue>(next)) continue;
      if (llvm::isa<llvm::PHINode>(next) || llvm::isa<llvm::SelectInst>(next)) {
        if (seen.insert(next).second) work.push_back(next);
      } else if (root == nullptr) {
        root = next;
      } else if (root != next) {
        unique = false;
      }
    }
  }
  llvm::Value* result = unique && root != nullptr ? root : start;
  prov_roots_[start] = result;
  return result;
}

uint32_t FunctionLowering::Prov(llvm::Value* pointer) {
  llvm::Value* root = ProvRoot(pointer);
  if (auto* constant = dyn_cast<llvm::Constant>(root)) return ConstantRegs(constant)[1];
  const auto it = values_.find(root);
  if (it == values_.end() || it->second.size() != 2 || it->second[1] == kNoReg) {
    Fail("internal: a pointer without provenance");
    return Const(Type::kI32, 0);
  }
  return it->second[1];
}

}  // namespace kuafu::klang
