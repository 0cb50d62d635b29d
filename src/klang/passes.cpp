// SPDX-License-Identifier: Apache-2.0
// The "check" pipeline. It makes the bytecode short (everything inlined, locals in registers, small
// constant loops unrolled) without moving, merging or deleting any access to memory that another
// thread could see: no LICM, GVN, GlobalOpt, DSE or MemorySSA, because each of them can optimise a
// defect away.
#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/IR/IRBuilder.h>
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

// Local variables that may be read before they are written stay in memory, where the interpreter
// watches every byte; promoted, the read would become `undef` and vanish. Found on a copy of the
// module: an opaque value is stored into each variable at its birth, and where a use of it outlives
// promotion there is such a read.
void KeepUninitializedLocals(llvm::Module& module) {
  const auto is_plain = [](llvm::Type* type, const auto& self) -> bool {
    const auto* record = dyn_cast<llvm::StructType>(type);
    if (record == nullptr) return type->isSingleValueType();
    return record->getNumElements() <= 16 &&
           llvm::all_of(record->elements(), [&](llvm::Type* t) { return self(t, self); });
  };
  llvm::ValueToValueMapTy map;
  const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module, map);
  std::vector<std::pair<llvm::AllocaInst*, llvm::CallInst*>> probes;
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    for (llvm::Instruction& i : f.getEntryBlock()) {
      auto* local = dyn_cast<llvm::AllocaInst>(&i);
      if (local == nullptr || local->isArrayAllocation() ||
          !is_plain(local->getAllocatedType(), is_plain))
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
  const auto keep =
      module.getOrInsertFunction("__kuafu_keep", llvm::Type::getVoidTy(module.getContext()),
                                 llvm::PointerType::getUnqual(module.getContext()));
  for (const auto& [local, value] : probes) {
    if (value->use_empty()) continue;
    llvm::IRBuilder<> at(local->getParent()->getTerminator());
    at.SetInsertPoint(local->getNextNode());
    at.CreateCall(keep, {local});
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
  KeepUninitializedLocals(module);

  const auto simplify = [](llvm::FunctionPassManager& p) {
    p.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    p.addPass(llvm::InstSimplifyPass());
    p.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
    p.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().needCanonicalLoops(true)));
    p.addPass(llvm::InstSimplifyPass());
    p.addPass(llvm::DCEPass());
  };
  llvm::FunctionPassManager passes;
  simplify(passes);
  passes.addPass(llvm::InferAddressSpacesPass());
  llvm::LoopPassManager rotate;
  rotate.addPass(llvm::LoopRotatePass(/*EnableHeaderDuplication=*/true));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(rotate), /*UseMemorySSA=*/false));
  llvm::LoopPassManager unroll;
  unroll.addPass(llvm::LoopFullUnrollPass(/*OptLevel=*/2));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(unroll), /*UseMemorySSA=*/false));
  simplify(passes);
  passes.addPass(llvm::InferAddressSpacesPass());
  llvm::FunctionPassManager last;
  last.addPass(llvm::DCEPass());
  last.addPass(llvm::LowerSwitchPass());
  last.addPass(llvm::BreakCriticalEdgesPass());
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    passes.run(f, functions);
    FormFma(f);
    functions.clear(f, f.getName());
    last.run(f, functions);
  }
}

}  // namespace kuafu::klang
