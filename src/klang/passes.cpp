// SPDX-License-Identifier: Apache-2.0
// The "check" pipeline. It makes the bytecode short (everything inlined, locals in registers, small
// constant loops unrolled) without moving, merging or deleting any access to memory that another
// thread could see: no LICM, GVN, GlobalOpt, DSE or MemorySSA, because each of them can optimise a
// defect away.
#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/InferAddressSpaces.h>
#include <llvm/Transforms/Scalar/InstSimplifyPass.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/BreakCriticalEdges.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>

#include "klang/lower.h"
#include "klang/stages.h"

namespace kuafu::klang {
namespace {

using llvm::dyn_cast;
using llvm::isa;

// Inlines everything that can be: what stays a call is recursive, address-taken or __noinline__.
void MarkForInlining(llvm::Module& module) {
  const llvm::SmallPtrSet<const llvm::Function*, 16> kernels = FindKernels(module);
  llvm::CallGraph graph(module);
  llvm::SmallPtrSet<const llvm::Function*, 16> recursive;
  for (auto scc = llvm::scc_begin(&graph); !scc.isAtEnd(); ++scc) {
    if (!scc.hasCycle()) continue;
    for (const llvm::CallGraphNode* node : *scc) {
      if (node->getFunction() != nullptr) recursive.insert(node->getFunction());
    }
  }
  for (llvm::Function& f : module) {
    for (llvm::Argument& arg : f.args()) arg.removeAttr(llvm::Attribute::NoAlias);
    if (f.isDeclaration() || kernels.contains(&f)) continue;
    f.setLinkage(llvm::GlobalValue::InternalLinkage);
    f.setComdat(nullptr);
    if (f.hasFnAttribute(llvm::Attribute::NoInline) || recursive.contains(&f)) continue;
    f.removeFnAttr(llvm::Attribute::OptimizeNone);
    f.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

// By-value struct parameters: a callee may write its copy, so one is made where it does.
void CopyByValueArguments(llvm::Module& module) {
  const llvm::SmallPtrSet<const llvm::Function*, 16> kernels = FindKernels(module);
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    for (llvm::Argument& arg : f.args()) {
      if (!arg.hasByValAttr() || (kernels.contains(&f) && OnlyRead(arg))) continue;
      llvm::IRBuilder<> builder(&f.getEntryBlock(), f.getEntryBlock().getFirstInsertionPt());
      const llvm::Align align = arg.getParamAlign().valueOrOne();
      auto* copy = builder.CreateAlloca(arg.getParamByValType(), nullptr, arg.getName());
      copy->setAlignment(align);
      arg.replaceAllUsesWith(copy);
      builder.CreateMemCpy(copy, align, &arg, align,
                           module.getDataLayout().getTypeAllocSize(arg.getParamByValType()));
    }
  }
}

// a*b+c with both operations marked `contract` becomes one fma, here and not in a backend, so that
// every tier computes the same bits.
void FormFma(llvm::Function& f) {
  const auto product = [](llvm::Value* v) -> llvm::BinaryOperator* {
    auto* mul = dyn_cast<llvm::BinaryOperator>(v);
    const bool fits = mul != nullptr && mul->getOpcode() == llvm::Instruction::FMul &&
                      mul->hasOneUse() && mul->hasAllowContract();
    return fits ? mul : nullptr;
  };
  for (llvm::BasicBlock& block : f) {
    for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
      auto* op = dyn_cast<llvm::BinaryOperator>(&i);
      if (op == nullptr || (op->getOpcode() != llvm::Instruction::FAdd &&
                            op->getOpcode() != llvm::Instruction::FSub))
        continue;
      if (!op->hasAllowContract()) continue;
      const bool sub = op->getOpcode() == llvm::Instruction::FSub;
      llvm::BinaryOperator* mul = product(op->getOperand(0));
      const bool first = mul != nullptr;
      if (!first) mul = product(op->getOperand(1));
      if (mul == nullptr) continue;
      llvm::IRBuilder<> builder(op);
      llvm::Value* a = mul->getOperand(0);
      llvm::Value* c = op->getOperand(first ? 1 : 0);
      if (sub && first) c = builder.CreateFNeg(c);
      if (sub && !first) a = builder.CreateFNeg(a);
      llvm::Value* fma = builder.CreateIntrinsic(llvm::Intrinsic::fma, {op->getType()},
                                                 {a, mul->getOperand(1), c});
      op->replaceAllUsesWith(fma);
      op->eraseFromParent();
      mul->eraseFromParent();
    }
  }
}

// Whether an aggregate or a part of it is used otherwise than by being stored: what is stored is in
// memory still, as in an array with a variable index, and may be promoted when loops are unrolled.
bool ReachesCode(const llvm::Value& value) {
  return llvm::any_of(value.users(), [](const llvm::User* user) {
    if (isa<llvm::StoreInst>(user)) return false;
    if (isa<llvm::ExtractValueInst>(user) || isa<llvm::InsertValueInst>(user))
      return ReachesCode(*user);
    return true;
  });
}

bool IsKept(const llvm::AllocaInst& local) {
  return llvm::any_of(local.users(), [](const llvm::User* user) {
    const auto* call = dyn_cast<llvm::CallBase>(user);
    return call != nullptr && call->getCalledFunction() != nullptr &&
           call->getCalledFunction()->getName() == "__kuafu_keep";
  });
}

void Keep(llvm::AllocaInst& local) {
  llvm::Module& module = *local.getModule();
  const auto keep =
      module.getOrInsertFunction("__kuafu_keep", llvm::Type::getVoidTy(module.getContext()),
                                 llvm::PointerType::getUnqual(module.getContext()));
  llvm::IRBuilder<> at(local.getNextNode());
  at.CreateCall(keep, {&local});
}

// Whether a constant offset lies outside the variable in some access to it.
bool IsOverrun(const llvm::AllocaInst& local) {
  constexpr size_t kUsesMax = 4096;
  const llvm::DataLayout& layout = local.getModule()->getDataLayout();
  const auto size = local.getAllocationSize(layout);
  if (!size || size->isScalable()) return false;
  const auto bytes = static_cast<int64_t>(size->getFixedValue());
  llvm::SmallVector<std::pair<const llvm::Value*, int64_t>, 16> work{{&local, 0}};
  for (size_t n = 0; n < work.size() && n < kUsesMax; ++n) {
    const auto [pointer, offset] = work[n];
    for (const llvm::User* user : pointer->users()) {
      if (const auto* gep = dyn_cast<llvm::GEPOperator>(user)) {
        llvm::APInt step(64, 0);
        if (gep->accumulateConstantOffset(layout, step))
          work.push_back({gep, offset + step.getSExtValue()});
        continue;
      }
      const auto* i = dyn_cast<llvm::Instruction>(user);
      if (i == nullptr || llvm::getLoadStorePointerOperand(i) != pointer) continue;
      const auto* store = dyn_cast<llvm::StoreInst>(i);
      const llvm::Value* value = store != nullptr ? store->getValueOperand() : i;
      const llvm::TypeSize access = layout.getTypeStoreSize(value->getType());
      const int64_t end = offset + static_cast<int64_t>(access.getFixedValue());
      if (offset < 0 || end > bytes) return true;
    }
  }
  return false;
}

// A variable that is accessed outside its bounds stays in memory, for the interpreter to see it:
// promotion would drop the access.
void KeepOverrunLocals(llvm::Module& module) {
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    for (llvm::Instruction& i : f.getEntryBlock()) {
      auto* local = dyn_cast<llvm::AllocaInst>(&i);
      if (local != nullptr && !IsKept(*local) && IsOverrun(*local)) Keep(*local);
    }
  }
}

// Local variables that may be read before they are written stay in memory, where the interpreter
// watches every byte; promoted, the read would become `undef` and vanish. Found on a copy of the
// module: an opaque value is stored into each variable at its birth, and where a use of it outlives
// promotion there is such a read.
void KeepUninitializedLocals(llvm::Module& module) {
  // The number of scalars in a type; too many to promote for anything else.
  constexpr uint64_t kScalarsMax = 256;
  const auto scalars = [](llvm::Type* type, const auto& self) -> uint64_t {
    if (const auto* array = dyn_cast<llvm::ArrayType>(type)) {
      const uint64_t each = self(array->getElementType(), self);
      if (array->getNumElements() > kScalarsMax) return kScalarsMax + 1;
      return std::min(each * array->getNumElements(), kScalarsMax + 1);
    }
    const auto* record = dyn_cast<llvm::StructType>(type);
    if (record == nullptr) return type->isSingleValueType() ? 1 : kScalarsMax + 1;
    uint64_t sum = 0;
    for (llvm::Type* t : record->elements()) sum = std::min(sum + self(t, self), kScalarsMax + 1);
    return sum;
  };
  const bool any = llvm::any_of(module, [](const llvm::Function& f) {
    return !f.isDeclaration() && llvm::any_of(f.getEntryBlock(), [](const llvm::Instruction& i) {
      return llvm::isa<llvm::AllocaInst>(i);
    });
  });
  if (!any) return;
  llvm::ValueToValueMapTy map;
  const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module, map);
  std::vector<std::pair<llvm::AllocaInst*, llvm::CallInst*>> probes;
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    for (llvm::Instruction& i : f.getEntryBlock()) {
      auto* local = dyn_cast<llvm::AllocaInst>(&i);
      if (local == nullptr || local->isArrayAllocation() ||
          scalars(local->getAllocatedType(), scalars) > kScalarsMax || IsKept(*local))
        continue;
      auto* twin = llvm::cast<llvm::AllocaInst>(static_cast<llvm::Value*>(map[local]));
      const auto probe = copy->getOrInsertFunction("kuafu.uninit." + std::to_string(probes.size()),
                                                   twin->getAllocatedType());
      llvm::IRBuilder<> builder(twin->getNextNode());
      llvm::CallInst* value = builder.CreateCall(probe);
      builder.CreateStore(value, twin);
      probes.emplace_back(local, value);
    }
  }
  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::DCEPass());
  for (llvm::Function& f : *copy) {
    if (!f.isDeclaration()) passes.run(f, functions);
  }
  for (const auto& [local, value] : probes) {
    if (ReachesCode(*value)) Keep(*local);
  }
}

// Declarations of variables are described twice in debug information; the interpreter needs lines
// only.
void DropDebugIntrinsics(llvm::Module& module) {
  for (llvm::Function& f : module) {
    for (llvm::BasicBlock& block : f) {
      for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
        const auto* intrinsic = dyn_cast<llvm::IntrinsicInst>(&i);
        if (intrinsic == nullptr) continue;
        switch (intrinsic->getIntrinsicID()) {
          case llvm::Intrinsic::assume:
          case llvm::Intrinsic::experimental_noalias_scope_decl:
          case llvm::Intrinsic::dbg_declare:
          case llvm::Intrinsic::dbg_value:
          case llvm::Intrinsic::dbg_label: i.eraseFromParent(); break;
          default: break;
        }
      }
    }
  }
}

// While it holds, no pass merges, moves or deletes an access to memory that another thread could
// see: EarlyCSE forwards stores to loads, SimplifyCFG hoists common loads, unrolling merges loads
// of neighbouring iterations. Lifted for InferAddressSpaces, which leaves volatile accesses alone.
class PinAccesses : public llvm::PassInfoMixin<PinAccesses> {
 public:
  explicit PinAccesses(bool pin) : pin_(pin) {}
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
    const unsigned pinned = f.getContext().getMDKindID("kuafu.pinned");
    for (llvm::Instruction& i : llvm::instructions(f)) {
      auto* load = dyn_cast<llvm::LoadInst>(&i);
      auto* store = dyn_cast<llvm::StoreInst>(&i);
      if (load == nullptr && store == nullptr) continue;
      if (pin_) {
        const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&i);
        if (i.isVolatile() || isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer))) continue;
        i.setMetadata(pinned, llvm::MDNode::get(f.getContext(), {}));
      } else {
        if (i.getMetadata(pinned) == nullptr) continue;
        i.setMetadata(pinned, nullptr);
      }
      if (load != nullptr) load->setVolatile(pin_);
      if (store != nullptr) store->setVolatile(pin_);
    }
    return llvm::PreservedAnalyses::all();
  }

 private:
  bool pin_;
};

}  // namespace

void RunCheckPipeline(llvm::Module& module) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);

  MarkForInlining(module);
  DropDebugIntrinsics(module);
  {
    llvm::ModulePassManager inlining;
    inlining.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
    inlining.addPass(llvm::GlobalDCEPass());
    inlining.run(module, modules);
  }
  CopyByValueArguments(module);
  modules.clear();
  KeepOverrunLocals(module);
  KeepUninitializedLocals(module);

  const auto simplify = [](llvm::FunctionPassManager& p) {
    p.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    p.addPass(llvm::InstSimplifyPass());
    p.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
    p.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().needCanonicalLoops(true)));
    p.addPass(llvm::InstSimplifyPass());
    p.addPass(llvm::DCEPass());
  };
  llvm::FunctionPassManager first;
  first.addPass(PinAccesses(true));
  simplify(first);
  first.addPass(PinAccesses(false));
  first.addPass(llvm::InferAddressSpacesPass());
  first.addPass(PinAccesses(true));
  llvm::LoopPassManager rotate;
  rotate.addPass(llvm::LoopRotatePass(/*EnableHeaderDuplication=*/true));
  first.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(rotate), /*UseMemorySSA=*/false));
  llvm::LoopPassManager unroll;
  unroll.addPass(llvm::LoopFullUnrollPass(/*OptLevel=*/2));
  first.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(unroll), /*UseMemorySSA=*/false));
  // What a guard excludes in an unrolled iteration is no overrun.
  first.addPass(llvm::InstSimplifyPass());
  first.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().needCanonicalLoops(true)));
  for (llvm::Function& f : module) {
    if (!f.isDeclaration()) first.run(f, functions);
  }
  // Unrolled, arrays have constant indices and are promoted too.
  functions.clear();
  KeepOverrunLocals(module);
  KeepUninitializedLocals(module);

  llvm::FunctionPassManager second;
  simplify(second);
  second.addPass(PinAccesses(false));
  second.addPass(llvm::InferAddressSpacesPass());
  llvm::FunctionPassManager last;
  last.addPass(llvm::DCEPass());
  last.addPass(llvm::LowerSwitchPass());
  last.addPass(llvm::BreakCriticalEdgesPass());
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    second.run(f, functions);
    FormFma(f);
    functions.clear(f, f.getName());
    last.run(f, functions);
  }
}

}  // namespace kuafu::klang
