// SPDX-License-Identifier: Apache-2.0
// LLVM IR to bytecode, private to klang. A ModuleLowering owns what functions share (globals,
// lines, errors); a FunctionLowering translates one function and is thrown away.
//
// A value of any first-class type is a list of registers, one per scalar in it; a pointer takes
// two, the address and its provenance. Address arithmetic that only feeds loads and stores is
// folded into them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include "isa/isa.h"
#include "klang/stages.h"

namespace kuafu::klang {

llvm::SmallPtrSet<const llvm::Function*, 16> FindKernels(const llvm::Module& module);
// A by-value argument that is neither written nor escapes.
bool OnlyRead(const llvm::Value& pointer);

using Regs = llvm::SmallVector<uint32_t, 2>;

// One scalar of a flattened type.
struct Leaf {
  isa::Type type;
  uint64_t offset = 0;
  bool pointer = false;
};

class ModuleLowering {
 public:
  ModuleLowering(llvm::Module& module, const LowerInput& input,
                 std::vector<Diagnostic>* diagnostics);
  isa::Module Run();

  // False: the type holds something bytecode has no register for (i128, scalable vectors, more than
  // 256 scalars).
  bool Flatten(llvm::Type* type, uint64_t offset, llvm::SmallVectorImpl<Leaf>* leaves) const;
  // Number of registers of a value of the type.
  uint32_t RegCount(llvm::Type* type) const;

  uint32_t LineOf(const llvm::DebugLoc& location);
  // The first message per place counts; compilation then fails.
  void Fail(const llvm::DebugLoc& location, const std::string& message);
  std::optional<uint32_t> SharedIndex(const llvm::GlobalVariable* variable) const;
  std::optional<uint32_t> GlobalIndex(const llvm::GlobalVariable* variable) const;
  std::optional<uint32_t> FunctionIndex(const llvm::Function* function) const;
  bool IsKernel(const llvm::Function* function) const { return kernels_.contains(function); }
  const llvm::DataLayout& layout() const { return module_.getDataLayout(); }
  llvm::Module& module() { return module_; }
  isa::Module& out() { return out_; }

 private:
  void CollectGlobals();
  void Initialize(const llvm::Constant* value, uint64_t offset, isa::Global* global);
  void AttachShared();
  uint32_t AddLine(uint32_t line, uint32_t column);

  llvm::Module& module_;
  const LowerInput& input_;
  std::vector<Diagnostic>* diagnostics_;
  llvm::SmallPtrSet<const llvm::Function*, 16> kernels_;
  isa::Module out_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> line_index_;
  llvm::DenseMap<const llvm::GlobalVariable*, uint32_t> shared_index_, global_index_;
  llvm::DenseMap<const llvm::Function*, uint32_t> function_index_;
};

// base + sext(index) * scale + offset.
struct AddressMode {
  uint32_t base = isa::kNoReg, index = isa::kNoReg;
  uint32_t scale = 0;
  int64_t offset = 0;
  uint32_t prov = isa::kNoReg;
  isa::Space space = isa::Space::kGeneric;
};

struct InstOptions {
  uint8_t aux = 0;
  int64_t imm = 0;
  uint32_t extra = 0;
};

class FunctionLowering {
 public:
  FunctionLowering(ModuleLowering& module, llvm::Function& function, isa::Function* out);
  void Run();

 private:
  // Registers and emission (lower_function.cpp).
  uint32_t NewReg(isa::Type type, bool uniform = false);
  uint32_t NewRun(isa::Type type, uint32_t count);
  uint32_t Emit(isa::Op op, isa::Type type, std::initializer_list<uint32_t> operands,
                InstOptions options = {});
  void EmitTo(uint32_t dst, isa::Op op, isa::Type type, std::initializer_list<uint32_t> operands,
              InstOptions options = {});
  // Once per function, at its start: addresses of variables and the like.
  uint32_t Prologue(isa::Op op, isa::Type type, std::initializer_list<uint32_t> operands,
                    bool uniform, int64_t imm);
  uint32_t Const(isa::Type type, uint64_t bits);
  uint32_t Special(isa::SpecialReg which);
  bool Uniform(uint32_t reg) const { return out_->registers[reg].uniform; }
  uint32_t Convert(uint32_t reg, isa::Type to, isa::Op op);
  void Fail(const std::string& message) { module_.Fail(location_, message); }

  void Parameters();
  void OrderBlocks(std::vector<llvm::BasicBlock*>* order);
  void DeclarePhis(llvm::BasicBlock& block);
  void EdgeMoves(llvm::BasicBlock& from, llvm::BasicBlock& to);
  void FindOverflowChecks();
  void WalkIndex(llvm::Value* value, int depth);
  void Finish();

  // Values.
  Regs Get(llvm::Value* value);
  uint32_t Reg(llvm::Value* value) { return Get(value)[0]; }
  void Set(llvm::Value* value, Regs regs) { values_[value] = std::move(regs); }
  void SetOne(llvm::Value* value, uint32_t reg) { values_[value] = Regs{reg}; }
  void SetPointer(llvm::Value* value, uint32_t address) {
    values_[value] = Regs{address, isa::kNoReg};
  }
  Regs ConstantRegs(llvm::Constant* constant);
  uint32_t Prov(llvm::Value* pointer);
  uint32_t RootProv(llvm::Value* root);
  llvm::Value* ProvRoot(llvm::Value* pointer);
  isa::Type ScalarType(llvm::Type* type) const;
  uint32_t RegOffset(llvm::Type* type, llvm::ArrayRef<unsigned> indices) const;

  // Instructions (lower_inst.cpp).
  void Instruction(llvm::Instruction& i);
  void Binary(llvm::BinaryOperator& i);
  void Cast(llvm::CastInst& i);
  void Compare(llvm::CmpInst& i);
  void Terminator(llvm::Instruction& i);
  void VectorInstruction(llvm::Instruction& i);
  void Aggregate(llvm::Instruction& i);

  // Memory (lower_memory.cpp).
  void Alloca(llvm::AllocaInst& i);
  void Gep(llvm::GetElementPtrInst& i);
  bool Fold(llvm::GEPOperator& gep, AddressMode* mode);
  AddressMode Mode(llvm::Value* pointer);
  uint32_t Materialize(const AddressMode& mode);
  void Load(llvm::LoadInst& i);
  void Store(llvm::StoreInst& i);
  uint32_t LoadScalars(const AddressMode& mode, isa::Type type, uint32_t count, uint64_t align,
                       uint8_t flags);
  void StoreScalars(const AddressMode& mode, isa::Type type, llvm::ArrayRef<uint32_t> regs,
                    uint64_t align, uint8_t flags);
  void AtomicRmw(llvm::AtomicRMWInst& i);
  void AtomicCas(llvm::AtomicCmpXchgInst& i);
  void MemTransfer(llvm::MemTransferInst& i);
  void MemSet(llvm::MemSetInst& i);
  isa::Space SpaceOf(llvm::Value* pointer);

  // Calls (lower_call.cpp, lower_math.cpp).
  void Call(llvm::CallInst& i);
  void DirectCall(llvm::CallInst& i, llvm::Function* callee);
  uint32_t CalleeProv(uint32_t prov);
  bool Intrinsic(llvm::CallInst& i, llvm::Function& callee);
  bool NvvmIntrinsic(llvm::CallInst& i, llvm::StringRef name);
  bool KuafuCall(llvm::CallInst& i, llvm::StringRef name);
  bool KuafuAtomic(llvm::CallInst& i, llvm::StringRef name);
  bool MathCall(llvm::CallInst& i, llvm::StringRef name);
  bool SpecialMath(llvm::CallInst& i, llvm::StringRef base);
  void FpClass(llvm::CallInst& i);
  bool RuntimeCall(llvm::CallInst& i, llvm::StringRef name);
  // Applies an operation to each scalar of a vector (or to the scalar).
  void Elementwise(llvm::CallInst& i, isa::Op op, unsigned operands, InstOptions options = {});

  ModuleLowering& module_;
  llvm::Function& function_;
  isa::Function* out_;
  llvm::DebugLoc location_;
  uint32_t line_ = 0;
  llvm::DenseMap<llvm::Value*, Regs> values_;
  llvm::DenseMap<llvm::Value*, AddressMode> folded_;
  llvm::DenseMap<llvm::Value*, uint32_t> provs_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> prov_roots_;
  llvm::DenseMap<llvm::BasicBlock*, uint32_t> block_at_;
  llvm::SmallPtrSet<llvm::Value*, 32> checked_;  // arithmetic whose signed wrap is a finding
  std::map<std::pair<int, uint64_t>, uint32_t> constants_;
  std::map<std::tuple<int, uint32_t, int64_t>, uint32_t> prologue_cache_;
  struct Fixup {
    size_t at;
    llvm::BasicBlock* on_true;
    llvm::BasicBlock* on_false;
  };
  std::vector<Fixup> fixups_;
  std::vector<isa::Inst> prologue_;
};

}  // namespace kuafu::klang
