// SPDX-License-Identifier: Apache-2.0
// The module level of the lowering: which functions are kernels, shared and global variables with
// their initialisers, source lines, types.
#include "klang/lower.h"

#include <algorithm>

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Operator.h>

namespace kuafu::klang {

using isa::Type;

constexpr unsigned kSharedSpace = 3, kConstantSpace = 4;  // NVPTX address spaces
constexpr uint32_t kMaxValueRegs = 256;

llvm::SmallPtrSet<const llvm::Function*, 16> FindKernels(const llvm::Module& module) {
  llvm::SmallPtrSet<const llvm::Function*, 16> kernels;
  for (const llvm::Function& f : module) {
    if (f.getCallingConv() == llvm::CallingConv::PTX_Kernel) kernels.insert(&f);
  }
  const llvm::NamedMDNode* annotations = module.getNamedMetadata("nvvm.annotations");
  if (annotations == nullptr) return kernels;
  for (const llvm::MDNode* node : annotations->operands()) {
    if (node->getNumOperands() < 3) continue;
    const auto* value = llvm::dyn_cast_or_null<llvm::ValueAsMetadata>(node->getOperand(0).get());
    const auto* function =
        value == nullptr ? nullptr : llvm::dyn_cast<llvm::Function>(value->getValue());
    for (unsigned n = 1; function != nullptr && n + 1 < node->getNumOperands(); n += 2) {
      const auto* key = llvm::dyn_cast<llvm::MDString>(node->getOperand(n));
      if (key != nullptr && key->getString() == "kernel") kernels.insert(function);
    }
  }
  return kernels;
}

bool OnlyRead(const llvm::Value& pointer) {
  llvm::SmallVector<const llvm::Value*, 16> work{&pointer};
  for (size_t n = 0; n < work.size() && n < 4096; ++n) {
    for (const llvm::User* user : work[n]->users()) {
      if (llvm::isa<llvm::LoadInst>(user)) continue;
      if (llvm::isa<llvm::GEPOperator>(user) || llvm::isa<llvm::AddrSpaceCastOperator>(user)) {
        work.push_back(user);
      } else if (const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(user)) {
        if (copy->getRawDest() == work[n]) return false;
      } else {
        return false;
      }
    }
  }
  return work.size() < 4096;
}

ModuleLowering::ModuleLowering(llvm::Module& module, const LowerInput& input,
                               std::vector<Diagnostic>* diagnostics)
    : module_(module), input_(input), diagnostics_(diagnostics), kernels_(FindKernels(module)) {
  out_.source_name = input.request->file;
  out_.arch = input.request->arch;
  out_.musa = input.request->dialect == Dialect::kMusa;
  out_.files = {input.request->file};
  out_.lines = {{}};
}

bool ModuleLowering::Flatten(llvm::Type* type, uint64_t offset,
                             llvm::SmallVectorImpl<Leaf>* leaves) const {
  if (leaves->size() > kMaxValueRegs) return false;
  switch (type->getTypeID()) {
    case llvm::Type::HalfTyID: leaves->push_back({Type::kF16, offset}); return true;
    case llvm::Type::BFloatTyID: leaves->push_back({Type::kBf16, offset}); return true;
    case llvm::Type::FloatTyID: leaves->push_back({Type::kF32, offset}); return true;
    case llvm::Type::DoubleTyID: leaves->push_back({Type::kF64, offset}); return true;
    case llvm::Type::PointerTyID: leaves->push_back({Type::kI64, offset, true}); return true;
    case llvm::Type::IntegerTyID: {
      switch (type->getIntegerBitWidth()) {
        case 1: leaves->push_back({Type::kI1, offset}); return true;
        case 8: leaves->push_back({Type::kI8, offset}); return true;
        case 16: leaves->push_back({Type::kI16, offset}); return true;
        case 32: leaves->push_back({Type::kI32, offset}); return true;
        case 64: leaves->push_back({Type::kI64, offset}); return true;
        default: return false;
      }
    }
    case llvm::Type::FixedVectorTyID: {
      const auto* vector = llvm::cast<llvm::FixedVectorType>(type);
      const uint64_t bytes = layout().getTypeStoreSize(vector->getElementType());
      for (unsigned n = 0; n < vector->getNumElements(); ++n) {
        if (!Flatten(vector->getElementType(), offset + n * bytes, leaves)) return false;
      }
      return true;
    }
    case llvm::Type::ArrayTyID: {
      const uint64_t bytes = layout().getTypeAllocSize(type->getArrayElementType());
      for (uint64_t n = 0; n < type->getArrayNumElements(); ++n) {
        if (!Flatten(type->getArrayElementType(), offset + n * bytes, leaves)) return false;
      }
      return true;
    }
    case llvm::Type::StructTyID: {
      auto* record = llvm::cast<llvm::StructType>(type);
      const llvm::StructLayout* fields = layout().getStructLayout(record);
      for (unsigned n = 0; n < record->getNumElements(); ++n) {
        if (!Flatten(record->getElementType(n),
                     offset + fields->getElementOffset(n).getFixedValue(), leaves))
          return false;
      }
      return true;
    }
    default: return false;
  }
}

uint32_t ModuleLowering::RegCount(llvm::Type* type) const {
  llvm::SmallVector<Leaf, 8> leaves;
  Flatten(type, 0, &leaves);
  uint32_t count = 0;
  for (const Leaf& leaf : leaves) count += leaf.pointer ? 2 : 1;
  return count;
}

uint32_t ModuleLowering::AddLine(uint32_t line, uint32_t column) {
  if (line == 0) return 0;
  const auto [it, added] =
      line_index_.try_emplace({line, column}, static_cast<uint32_t>(out_.lines.size()));
  if (added) out_.lines.push_back({0, line, column});
  return it->second;
}

// The innermost place in the user's own file: a header's position says nothing to the user.
uint32_t ModuleLowering::LineOf(const llvm::DebugLoc& location) {
  for (const llvm::DILocation* at = location.get(); at != nullptr; at = at->getInlinedAt()) {
    if (at->getLine() != 0 &&
        (at->getFilename() == input_.user_path || at->getFilename() == input_.request->file))
      return AddLine(at->getLine(), at->getColumn());
  }
  return 0;
}

void ModuleLowering::Fail(const llvm::DebugLoc& location, const std::string& message) {
  if (diagnostics_->size() >= kMaxDiagnostics) return;
  Diagnostic d;
  d.severity = Severity::kError;
  d.file = input_.request->file;
  const isa::Line& line = out_.lines[LineOf(location)];
  d.line = line.line;
  d.column = line.column;
  d.message = message;
  for (const Diagnostic& k : *diagnostics_) {
    if (k.line == d.line && k.message == d.message) return;
  }
  AddSnippet(input_.request->source, &d);
  diagnostics_->push_back(std::move(d));
}

std::optional<uint32_t> ModuleLowering::SharedIndex(const llvm::GlobalVariable* variable) const {
  const auto it = shared_index_.find(variable);
  return it == shared_index_.end() ? std::nullopt : std::optional(it->second);
}
std::optional<uint32_t> ModuleLowering::GlobalIndex(const llvm::GlobalVariable* variable) const {
  const auto it = global_index_.find(variable);
  return it == global_index_.end() ? std::nullopt : std::optional(it->second);
}
std::optional<uint32_t> ModuleLowering::FunctionIndex(const llvm::Function* function) const {
  const auto it = function_index_.find(function);
  return it == function_index_.end() ? std::nullopt : std::optional(it->second);
}

void ModuleLowering::CollectGlobals() {
  for (const llvm::GlobalVariable& g : module_.globals()) {
    if (g.getName().starts_with("llvm.")) continue;
    const uint64_t bytes = g.getValueType()->isSized()
                               ? layout().getTypeAllocSize(g.getValueType()).getFixedValue()
                               : 0;
    const auto align = static_cast<uint32_t>(
        g.getAlign().value_or(layout().getABITypeAlign(g.getValueType())).value());
    // Variables local to a function are called `_ZZ6kernelE4tile`: people call them `tile`.
    std::string name = g.getName().str();
    if (g.getName().starts_with("_Z")) {
      name = llvm::demangle(name);
      const size_t colons = name.rfind("::");
      if (g.getAddressSpace() == kSharedSpace && colons != std::string::npos)
        name = name.substr(colons + 2);
    }
    uint32_t line = 0;
    llvm::SmallVector<llvm::DIGlobalVariableExpression*, 1> info;
    g.getDebugInfo(info);
    if (!info.empty()) line = AddLine(info[0]->getVariable()->getLine(), 1);
    if (g.getAddressSpace() == kSharedSpace) {
      const bool dynamic = g.isDeclaration() || bytes == 0;
      shared_index_[&g] = static_cast<uint32_t>(out_.shared.size());
      if (bytes > (1u << 30))
        Fail({}, "shared variable " + name + " has " + std::to_string(bytes) +
                     " bytes, more than any device offers");
      out_.shared.push_back(
          {name, static_cast<uint32_t>(dynamic ? 0 : bytes), align, line, dynamic});
      continue;
    }
    global_index_[&g] = static_cast<uint32_t>(out_.globals.size());
    isa::Global global;
    global.name = g.getName().str();  // as the host looks it up
    global.space =
        g.getAddressSpace() == kConstantSpace ? isa::Space::kConstant : isa::Space::kGlobal;
    global.bytes = bytes;
    global.align = align;
    global.line = line;
    global.initialized = !g.isDeclaration();
    if (bytes > isa::kMaxGlobalBytes)
      Fail({}, "device variable " + name + " has " + std::to_string(bytes) +
                   " bytes, more than any device offers");
    out_.globals.push_back(std::move(global));
  }
}

void ModuleLowering::Initialize(const llvm::Constant* value, uint64_t offset, isa::Global* global) {
  if (llvm::isa<llvm::ConstantAggregateZero>(value) || llvm::isa<llvm::UndefValue>(value) ||
      value->isNullValue())
    return;
  const uint64_t bytes = layout().getTypeStoreSize(value->getType()).getFixedValue();
  const auto put = [&](uint64_t bits, uint64_t count) {
    if (global->init.size() < offset + count) global->init.resize(offset + count);
    for (uint64_t n = 0; n < count; ++n)
      global->init[offset + n] = static_cast<uint8_t>(bits >> (8 * n));
  };
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value);
      number != nullptr && bytes <= 8) {
    put(number->getZExtValue(), bytes);
  } else if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(value);
             real != nullptr && bytes <= 8) {
    put(real->getValueAPF().bitcastToAPInt().getZExtValue(), bytes);
  } else if (const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(value)) {
    for (unsigned n = 0; n < data->getNumElements(); ++n) {
      Initialize(data->getElementAsConstant(n), offset + n * data->getElementByteSize(), global);
    }
  } else if (const auto* record = llvm::dyn_cast<llvm::ConstantStruct>(value)) {
    const llvm::StructLayout* fields = layout().getStructLayout(record->getType());
    for (unsigned n = 0; n < record->getNumOperands(); ++n) {
      Initialize(record->getOperand(n), offset + fields->getElementOffset(n).getFixedValue(),
                 global);
    }
  } else if (llvm::isa<llvm::ConstantArray>(value) || llvm::isa<llvm::ConstantVector>(value)) {
    const uint64_t step =
        layout().getTypeAllocSize(value->getOperand(0)->getType()).getFixedValue();
    for (unsigned n = 0; n < value->getNumOperands(); ++n) {
      Initialize(llvm::cast<llvm::Constant>(value->getOperand(n)), offset + n * step, global);
    }
  } else {
    llvm::APInt addend(64, 0);
    const llvm::Value* base = value;
    if (value->getType()->isPointerTy()) {
      base = value->stripAndAccumulateConstantOffsets(layout(), addend, true);
      while (const auto* cast = llvm::dyn_cast<llvm::AddrSpaceCastOperator>(base)) {
        base = cast->getPointerOperand()->stripAndAccumulateConstantOffsets(layout(), addend, true);
      }
    }
    const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(base);
    const auto* function = llvm::dyn_cast<llvm::Function>(base);
    // The slot of a pure virtual function stays null: a call through it is a bad function pointer.
    if (function != nullptr && function->isDeclaration() &&
        (function->getName() == "__cxa_pure_virtual" ||
         function->getName() == "__cxa_deleted_virtual"))
      return;
    const auto index = variable != nullptr   ? GlobalIndex(variable)
                       : function != nullptr ? FunctionIndex(function)
                                             : std::nullopt;
    if (!index) {
      Fail({}, "the initialiser of device variable " + global->name +
                   " holds an expression that is not supported; "
                   "assign it in a kernel instead");
      return;
    }
    put(0, 8);
    global->relocations.push_back(
        {static_cast<uint32_t>(offset), function != nullptr, *index, addend.getSExtValue()});
  }
}

// A kernel uses the shared variables that its code and that of its callees name.
void ModuleLowering::AttachShared() {
  const size_t count = out_.functions.size();
  std::vector<std::vector<uint32_t>> uses(count), calls(count);
  for (size_t n = 0; n < count; ++n) {
    for (const isa::Inst& i : out_.functions[n].code) {
      if (i.op == isa::Op::kSharedAddr) uses[n].push_back(static_cast<uint32_t>(i.imm));
      if (i.op == isa::Op::kCall || i.op == isa::Op::kFuncAddr)
        calls[n].push_back(static_cast<uint32_t>(i.imm));
      if (i.op == isa::Op::kCallIndirect) {
        for (size_t other = 0; other < count; ++other) {
          if (!out_.functions[other].is_kernel) calls[n].push_back(static_cast<uint32_t>(other));
        }
      }
    }
  }
  for (size_t n = 0; n < count; ++n) {
    if (!out_.functions[n].is_kernel) continue;
    std::vector<bool> seen(count), used(out_.shared.size());
    std::vector<size_t> work{n};
    seen[n] = true;
    while (!work.empty()) {
      const size_t at = work.back();
      work.pop_back();
      for (uint32_t s : uses[at]) used[s] = true;
      for (uint32_t callee : calls[at]) {
        if (!seen[callee]) {
          seen[callee] = true;
          work.push_back(callee);
        }
      }
    }
    for (uint32_t s = 0; s < used.size(); ++s) {
      if (used[s]) out_.functions[n].shared.push_back(s);
    }
  }
}

isa::Module ModuleLowering::Run() {
  CollectGlobals();
  std::vector<llvm::Function*> functions;
  for (llvm::Function& f : module_) {
    if (f.isDeclaration()) continue;
    function_index_[&f] = static_cast<uint32_t>(functions.size());
    functions.push_back(&f);
  }
  for (const auto& [variable, index] : global_index_) {
    if (variable->hasInitializer()) Initialize(variable->getInitializer(), 0, &out_.globals[index]);
  }
  out_.functions.resize(functions.size());
  // Signatures first: a call is checked against its callee.
  for (size_t n = 0; n < functions.size(); ++n) {
    FunctionLowering(*this, *functions[n], &out_.functions[n]).Run();
  }
  AttachShared();
  return std::move(out_);
}

isa::Module LowerModule(llvm::Module& module, const LowerInput& input,
                        std::vector<Diagnostic>* diagnostics) {
  return ModuleLowering(module, input, diagnostics).Run();
}

}  // namespace kuafu::klang
